#include "cli/validate_request.h"

#include <algorithm>

#include "base/files.h"
#include "base/text.h"
#include "cli/validate_source.h"

namespace shardsim {
namespace {

constexpr int kMostIterations = 1'000'000;

int count_of(const Arguments& given, const std::string& name, int fallback, int least) {
  const auto text = given.value(name);
  if (!text) return fallback;
  const bool digits = !text->empty() && text->size() <= 7 && text->find_first_not_of("0123456789") == std::string::npos;
  const int count = digits ? std::stoi(*text) : -1;
  if (count >= least && count <= kMostIterations) return count;
  throw input_error(Arguments::place(name), excerpt(*text) + " is no count",
                    "Give a whole number from " + std::to_string(least) + " to " + with_thousands(kMostIterations));
}

std::string transport_of(const Arguments& given, const MachineEntry& machine) {
  const std::vector<std::string> known = split(machine.transports, ',');
  const std::string wanted = given.value("transport").value_or(known.front());
  if (std::find(known.begin(), known.end(), wanted) != known.end()) return wanted;
  if (wanted == "mpi" && machine.name == "cpu")
    throw input_error(Arguments::place("transport"), "this build has no MPI part",
                      "Build where MPI is installed (cmake -DSHARDSIM_MPI=ON, or ./build.sh --mpi on a bare node), or "
                      "use --transport sockets");
  throw input_error(Arguments::place("transport"),
                    excerpt(wanted) + " does not go with --device " + std::string(machine.name),
                    known_names_hint(wanted, known));
}

// A Timeline of an earlier run may be written over; anything else is somebody's file.
void check_output(const std::string& path, bool force) {
  check_timeline_ending(path);
  if (force || !is_file(path)) return;
  if (read_file(path).find("shardsim.timeline") != std::string::npos) return;
  throw input_error(Arguments::place("output"), "'" + path + "' is there and is no Timeline",
                    "Name another file, or add --force");
}

}  // namespace

std::vector<OptionSpec> validate_options() {
  std::vector<OptionSpec> options = source_options();
  options.insert(options.end(), {{"output", 'o', true, false},
                                 {"trace", 0, true, false},
                                 {"device", 0, true, false},
                                 {"transport", 0, true, false},
                                 {"warmup", 0, true, false},
                                 {"iterations", 0, true, false},
                                 {"apart", 0, false, false},
                                 {"threads", 0, true, false},
                                 {"check-data", 0, false, false},
                                 {"force", 0, false, false}});
  return options;
}

std::string validate_help() {
  std::string text =
      "shardsim-validate: execute the Program of a case for real, and write what was observed\n\n"
      "usage: ";
  text += source_usage();
  for (const MachineEntry& machine : machines()) {
    text += "      --device " + std::string(machine.name) + std::string(12 - machine.name.size(), ' ') +
            std::string(machine.help) + " (transports: " + std::string(machine.transports) + ")\n";
  }
  text +=
      "      --transport NAME     how ranks reach each other (default: the first of the device)\n"
      "      --warmup N           iterations that are not kept (default 50)\n"
      "      --iterations N       iterations that are (default 20)\n"
      "      --apart              start every iteration alone, at one time on all ranks\n"
      "      --threads N          of each compute operation on a CPU rank (default 1)\n"
      "      --trace DIR          also a Kineto trace per rank, DIR/rankN.json\n"
      "      --check-data         instead of measuring: compare gathered and updated rows with a\n"
      "                           single process, bit for bit, over --iterations (default 20)\n"
      "      --force              overwrite a file of another kind\n\n"
      "Ranks come from torchrun's variables, Open MPI's or Slurm's; one process per rank or per node.\n"
      "Without a launcher this process runs all ranks.\n\n"
      "examples:\n"
      "  shardsim lower scenarios/toy.yaml --case flexshard_3tier -o out/toy.program.json\n"
      "  shardsim-validate out/toy.program.json --warmup 2 --iterations 3 -o out/toy.observed.h5\n";
  return text;
}

ValidateRequest validate_request(const Arguments& given) {
  ValidateRequest request;
  const MachineEntry& machine = machine_named(given.value("device").value_or(std::string(machines().front().name)));
  request.options.device = machine.name;
  request.options.machine.transport = transport_of(given, machine);
  request.options.machine.threads = count_of(given, "threads", 1, 1);
  request.options.warmup = count_of(given, "warmup", 50, 0);
  request.options.iterations = count_of(given, "iterations", 20, 1);
  request.options.apart = given.has("apart");
  if (given.has("check-data")) request.check_iterations = request.options.iterations;
  request.output = given.value("output").value_or("");
  request.trace = given.value("trace").value_or("");
  if (request.check_iterations > 0) return request;
  if (request.output.empty())
    throw input_error(Arguments::place("output"), "is missing", "Say where the observed Timeline goes: -o observed.h5");
  check_output(request.output, given.has("force"));
  return request;
}

}  // namespace shardsim
