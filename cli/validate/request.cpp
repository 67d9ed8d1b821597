#include "cli/validate/request.h"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>

#include "base/files.h"
#include "base/stop_signals.h"
#include "base/text.h"
#include "cli/file_kinds.h"

namespace shardsim {
namespace {

constexpr int kMostIterations = 1'000'000;

std::string transport_of(const Arguments& given, const MachineEntry& machine) {
  const std::vector<std::string> known = split(machine.transports, ',');
  const std::string wanted = given.value("transport").value_or(known.front());
  if (std::find(known.begin(), known.end(), wanted) != known.end()) return wanted;
  if (wanted == "mpi" && machine.name == "cpu")
    throw input_error(Arguments::place("transport"), "this build has no MPI part",
                      "Build where MPI is installed (cmake -DSHARDSIM_MPI=ON, or ./build.sh --mpi on a bare node), or "
                      "use --transport sockets");
  throw input_error(Arguments::place("transport"),
                    excerpt(wanted) + " cannot be used with --device " + std::string(machine.name),
                    known_names_hint(wanted, known));
}

// "seen.timeline.json" and "rank3" give "seen.timeline.rank3.json".
std::string beside(const std::string& path, const std::string& what) {
  std::filesystem::path own = path;
  own.replace_extension(what + own.extension().string());
  return own.string();
}

// Refuses options that have no effect on ranks of this kind of device.
void refuse_idle_options(const Arguments& given, const MachineEntry& machine) {
  if (machine.name != "cuda" && given.has("priority"))
    throw input_error(Arguments::place("priority"), "the streams of a CPU rank are threads, which have no priority",
                      "Leave it out, or use --device cuda");
  for (const char* const name : {"threads", "longest-operation"}) {
    if (machine.name == "cuda" && given.has(name))
      throw input_error(Arguments::place(name), "the option concerns CPU ranks, and these are GPUs", "Leave it out");
  }
}

ExecuteOptions execute_options(const Arguments& given) {
  ExecuteOptions options;
  const MachineEntry& machine = machine_named(given.text("device"));
  refuse_idle_options(given, machine);
  options.device = machine.name;
  options.machine.transport = transport_of(given, machine);
  options.machine.threads = static_cast<int>(*given.count("threads", 1, most_threads()));
  options.warmup = static_cast<int>(*given.count("warmup", 0, kMostIterations));
  options.iterations = static_cast<int>(*given.count("iterations", 1, kMostIterations));
  options.apart = given.has("apart");
  options.machine.priority = given.has("priority");
  options.stopped = [] { return caught_signal() != 0; };
  return options;
}

// Sets what was there before.
void check_outputs(ValidateRequest& request) {
  ResultPath& output = request.output;
  if (output.path.empty())
    throw input_error(Arguments::place("output"), "is missing",
                      "Name the file of the observed timeline: -o observed.h5");
  refuse_read_file(output.path, {request.program});
  check_timeline_ending(output.path);
  output.stays = is_file(output.path);
  request.trace.stays = is_there(request.trace.path);
}

std::string device_names_help() {
  std::string text = "The device that executes the Program:";
  for (const MachineEntry& machine : machines())
    text += fmt::format(" {} ({}; transports: {}),", machine.name, machine.help, machine.transports);
  text.back() = '.';
  return text;
}

}  // namespace

std::string ResultPath::of(int rank, bool complete) const {
  if (rank != 0) return beside(path, "rank" + std::to_string(rank));
  return complete || !stays ? path : beside(path, "incomplete");
}

ValidateRequest validate_request(const Arguments& given) {
  given.refuse_beside("check-data", {"output", "trace", "warmup", "apart", "force"});
  given.refuse_empty({"output", "trace", "secret-file", "device", "transport", "case"});
  ValidateRequest request;
  request.options = execute_options(given);
  request.program = given.positional()[0];
  if (given.has("check-data")) request.check_iterations = request.options.iterations;
  if (const auto port = given.count("port", 1, 65535)) request.port = static_cast<int>(*port);
  request.patience = static_cast<double>(*given.count("longest-operation", 1, 100'000'000));
  request.secret_file = given.text("secret-file");
  request.join_limit = static_cast<double>(*given.count("join-limit", 1, 86'400));
  request.output.path = given.text("output");
  request.trace.path = given.text("trace");
  request.writer = result_writer(given);
  if (request.check_iterations == 0) check_outputs(request);
  return request;
}

std::vector<Option> validate_options() {
  return {{"output", 'o', "FILE", timeline_kinds()},
          {"device", 0, "NAME", device_names_help(), std::string(machines().front().name)},
          {"transport", 0, "NAME",
           "The transport by which the ranks exchange data. Without this option it is the first one of the device."},
          {"warmup", 0, "N", "The number of iterations that run first and are not counted.", "50"},
          {"iterations", 0, "N", "The number of iterations that are counted.", "20"},
          {"apart", 0, "", "Wait for the end of each iteration, and start the next one at the same time on all ranks."},
          {"priority", 0, "", "On GPUs: give the streams of collectives a higher priority than the other streams."},
          {"port", 0, "N",
           "The port on which rank 0 listens; it must be the same on every rank. Without this option it is "
           "MASTER_PORT, or MASTER_PORT + 1000 under torchrun, whose agent uses MASTER_PORT itself."},
          {"secret-file", 0, "FILE",
           "A file with the secret that all ranks share, instead of the environment variable SHARDSIM_SECRET. "
           "Connections from others, who do not know it, are turned away. A secret is needed if other machines can "
           "reach the address of rank 0."},
          {"join-limit", 0, "SECONDS", "The time that ranks wait for each other at the start, in seconds.", "120"},
          {"longest-operation", 0, "SECONDS",
           "The time that one compute operation of a CPU rank may take, as estimated from the speed of this "
           "machine. If an operation takes longer, nothing is run.",
           "60"},
          {"threads", 0, "N",
           "The number of threads that work on each compute operation of a CPU rank: at most 4 for each processor "
           "of this machine, or 64 if that is more.",
           "1"},
          {"trace", 0, "DIR", "Also write a Kineto trace of each rank, DIR/rankN.json."},
          {"check-data", 0, "",
           "Do not measure. Instead check that the rows that are looked up and updated in --iterations iterations "
           "equal those of a single process, bit for bit."},
          {"force", 0, "",
           "Replace existing files even if something else wrote them, or they were changed since this program wrote "
           "them."}};
}

}  // namespace shardsim
