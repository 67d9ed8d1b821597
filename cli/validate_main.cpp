#include <fmt/core.h>
#include <signal.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <filesystem>
#include <mutex>
#include <new>
#include <optional>
#include <system_error>
#include <thread>

#include "base/at_end.h"
#include "base/files.h"
#include "base/result_folder.h"
#include "base/system_failure.h"
#include "base/text.h"
#include "cli/arguments/measuring.h"
#include "cli/arguments/process.h"
#include "cli/file_kinds.h"
#include "sim/timeline/kineto/kineto.h"
#include "sim/timeline/timeline_figures.h"
#include "validate/execute/buffers/lookup_buffers.h"
#include "validate/execute/kernels/parallel.h"
#include "validate/execute/meet/launch.h"
#include "validate/execute/meet/secret.h"
#include "validate/execute/meet/tcp.h"
#include "validate/execute/run/execute.h"

namespace {

using namespace shardsim;

constexpr int kMostIterations = 1'000'000;
constexpr double kWorthSaying = 5;   // seconds of an operation
constexpr int kMostRanksHere = 256;  // of one process: each has threads, and a connection to every other one

// What the arguments ask for.
struct ValidateRequest {
  std::string output;
  std::string trace;          // folder of Kineto traces; "": none
  bool output_stays = false;  // it was there before, and what is incomplete does not take its place
  bool trace_stays = false;   // likewise
  double patience = 0;        // seconds that an operation may take
  int check_iterations = 0;   // --check-data; 0: measure
  std::optional<int> port;    // where rank 0 listens; none: as the launcher says
  std::string program;        // the file
  std::string secret_file;    // "": the secret is in the environment, or there is none
  double join_limit = kJoinLimit;
  ExecuteOptions options;
};

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

// Beside a result: "seen.timeline.json" and "rank3" give "seen.timeline.rank3.json".
std::string beside(const std::string& path, const std::string& what) {
  std::filesystem::path own = path;
  own.replace_extension(what + own.extension().string());
  return own.string();
}

// A Timeline of an earlier run may be written over; anything else is somebody's file.
void check_output(const std::string& path, bool force) {
  check_timeline_ending(path);
  if (force || !is_file(path)) return;
  if (read_file(path).find("shardsim.timeline") != std::string::npos) return;
  throw input_error(Arguments::place("output"), "'" + path + "' exists and is not a timeline",
                    "Choose another name, or add --force to overwrite it");
}

ValidateRequest validate_request(const Arguments& given) {
  refuse_empty(given, {"output", "trace", "secret-file", "device", "transport", "case"});
  ValidateRequest request;
  const MachineEntry& machine = machine_named(given.text("device"));
  request.options.device = machine.name;
  request.options.machine.transport = transport_of(given, machine);
  request.options.machine.threads = static_cast<int>(*given.count("threads", 1, most_threads()));
  request.options.warmup = static_cast<int>(*given.count("warmup", 0, kMostIterations));
  request.options.iterations = static_cast<int>(*given.count("iterations", 1, kMostIterations));
  request.options.apart = given.has("apart");
  request.options.machine.priority = given.has("priority");
  if (request.options.machine.priority && machine.name != "cuda")
    throw input_error(Arguments::place("priority"), "the streams of a CPU rank are threads, which have no priority",
                      "Leave it out, or use --device cuda");
  request.program = given.positional()[0];
  if (given.has("check-data")) request.check_iterations = request.options.iterations;
  if (const auto port = given.count("port", 1, 65535)) request.port = static_cast<int>(*port);
  request.patience = static_cast<double>(*given.count("longest-operation", 1, 100'000'000));
  request.secret_file = given.text("secret-file");
  request.join_limit = static_cast<double>(*given.count("join-limit", 1, 86'400));
  request.options.stopped = [] { return caught_signal() != 0; };
  request.output = given.text("output");
  request.trace = given.text("trace");
  if (request.check_iterations > 0) return request;
  if (request.output.empty())
    throw input_error(Arguments::place("output"), "is missing",
                      "Name the file of the observed timeline: -o observed.h5");
  check_output(request.output, given.has("force"));
  request.output_stays = is_file(request.output);
  request.trace_stays = is_there(request.trace);
  if (request.output_stays) check_output(beside(request.output, "incomplete"), given.has("force"));
  return request;
}

// Fails the run when this process is told to stop, so that what was measured reaches the disk.
std::jthread stop_watch(Rendezvous& rendezvous) {
  return std::jthread([&rendezvous](const std::stop_token& over) {
    while (!over.stop_requested() && caught_signal() == 0) std::this_thread::sleep_for(std::chrono::milliseconds(50));
    if (!over.stop_requested())
      rendezvous.fail(caught_signal() == SIGINT ? "stopped by Ctrl-C" : "stopped", "its work");
  });
}

int free_port() {
  return local_address(listen_on({"127.0.0.1", 0})).port;
}

// The ranks that this process runs, each in a thread: one of a launcher's, those of a node, or all.
std::vector<Launch> ranks_here(const Program& program, const ValidateRequest& request) {
  Launch launch = launch_from([](const char* name) { return std::getenv(name); }, request.port);
  if (!request.secret_file.empty()) launch.secret = secret_of_file(request.secret_file);
  const int world = program.world_size;
  const bool per_node =
      launch.local_size == 1 && launch.world_size < world && launch.world_size * program.ranks_per_node == world;
  if (!launch.launcher.empty() && !per_node) {
    if (launch.world_size == world) return {launch};
    throw input_error(
        {"environment of " + launch.launcher},
        std::to_string(launch.world_size) + " processes for a program of " + std::to_string(world) + " ranks",
        "Start one per rank, or one per node of " + std::to_string(program.ranks_per_node));
  }
  const int here = launch.launcher.empty() ? world : program.ranks_per_node;
  if (here > kMostRanksHere)
    throw input_error(
        {request.program},
        fmt::format("this process would run {} ranks, and {} are the most", with_thousands(here), kMostRanksHere),
        launch.launcher.empty() ? "Execute a smaller case, or start one process per rank or per node with "
                                  "torchrun, mpirun or srun"
                                : "Start one process per rank");
  const int channels = request.options.machine.transport == "sockets" ? static_cast<int>(program.streams.size()) : 0;
  allow_descriptors(socket_descriptors(world, here, launch.rank == 0, channels));
  if (launch.launcher.empty()) launch.secret = random_secret();  // all ranks are in this process
  const int port = launch.launcher.empty() && !request.port ? free_port() : launch.master_port;
  std::vector<Launch> ranks;
  for (int local = 0; local < here; ++local) {
    Launch each = launch;
    each.rank = launch.rank * here + local;
    each.world_size = world;
    each.local_rank = local % program.ranks_per_node;
    each.local_size = program.ranks_per_node;
    each.master_port = port;
    ranks.push_back(each);
  }
  return ranks;
}

void print_summary(const Timeline& timeline, const std::string& path) {
  fmt::print("{} ranks, {}, {}\n", timeline.world_size, timeline.measured.device, timeline.measured.transport);
  fmt::print("iteration: {:.3f} ms, median of {}\n\n", timeline.iteration_ms, timeline.iterations_run);
  fmt::print("{:<28} {:<14} {:>5} {:>12} {:>12}\n", "operation", "class", "calls", "time ms", "exposed ms");
  for (const NamedTime& time : named_times(timeline)) {
    fmt::print("{:<28} {:<14} {:>5} {:>12.3f} {:>12.3f}\n", printable(time.name), time.op_class, time.calls,
               time.span_ms, time.exposed_ms);
  }
  fmt::print("\nwrote {}\n", path);
}

void save_or_fail(const std::function<void(const Timeline&)>& save, const Timeline& timeline, Rendezvous& rendezvous) {
  try {
    save(timeline);
  } catch (const Error& error) {
    rendezvous.fail(error.what(), "writing the file");
    throw;
  }
}

// Where a result goes. Of the other ranks one writes only where rank 0 has died. What is incomplete does not take the
// place of what was there before: that may have taken hours, and be whole.
std::string place_of(const std::string& path, bool was_there, int rank, bool complete) {
  if (rank != 0) return beside(path, "rank" + std::to_string(rank));
  return complete || !was_there ? path : beside(path, "incomplete");
}

// A file of that name in a new folder of this machine's own that has room for it; "" where there is none.
std::string saved_elsewhere(const std::string& path, const ValidateSource& source, const Timeline& timeline) {
  std::error_code ignored;
  for (const std::filesystem::path& root : {std::filesystem::temp_directory_path(ignored), {"/dev/shm"}}) {
    std::string folder = (root / "shardsim-kept-XXXXXX").string();
    if (::mkdtemp(folder.data()) == nullptr) continue;
    const std::filesystem::path file = folder / std::filesystem::path(path).filename();
    try {
      save_timeline(file, source, timeline);
      return file.string();
    } catch (const Error&) {
      std::filesystem::remove(folder, ignored);
    }
  }
  return "";
}

// Said once, when the run is over: a stranger who knocks is no fault of the run, but the user may want to know.
void tell_of_strangers(const Rendezvous& rendezvous) {
  if (rendezvous.strangers() == 0) return;
  say(fmt::format("note: rank {} turned away {} whose other end did not know the secret of this run", rendezvous.rank(),
                  counted(static_cast<std::size_t>(rendezvous.strangers()), "connection")));
}

// The ranks of this process, each in a thread. Where one of them hangs, or fails before all have met, the process ends:
// once, and not before the others, which may be writing, are through.
class Crew {
 public:
  Crew(const ValidateRequest& request, const std::vector<Launch>& ranks)
      : request_(request), has_root_(ranks.front().rank == 0), left_(static_cast<int>(ranks.size())) {}

  void saved(const std::string& path, bool all) {
    const std::lock_guard lock(mutex_);
    written_ = path;
    complete_ = all;
  }

  void one_ended() {
    const std::lock_guard lock(mutex_);
    --left_;
    changed_.notify_all();
  }

  // For ExecuteOptions::give_up: this rank's thread does not come back.
  [[noreturn]] void give_up(const std::string& why) {
    one_ended();
    {
      std::unique_lock lock(mutex_);
      changed_.wait_for(lock, kSaving, [this] { return left_ <= 0; });
    }
    end(caught_signal() == 0 ? 1 : 128 + caught_signal(), caught_signal() == 0 ? why + "." : stopped(why));
  }

  // Ends the process with that line; only the first one that comes speaks.
  [[noreturn]] void end(int code, const std::string& message) {
    while (told_.exchange(true)) std::this_thread::sleep_for(kSaving);
    std::_Exit(report_error(code, message));
  }

  // After a signal: what became of the measurement. `why` the run failed says where it is lost.
  std::string stopped(const std::string& why) {
    const std::lock_guard lock(mutex_);
    if (request_.check_iterations > 0) return "stopped; the data was not compared to the end.";
    const std::size_t lost = why.find("what was measured is lost");
    if (lost != std::string::npos) return "stopped, and " + why.substr(lost);
    if (complete_) return fmt::format("stopped; all was measured, and is in {}.", written_);
    if (!written_.empty())
      return fmt::format("stopped; what was measured so far is in {}, marked as incomplete{}.", written_,
                         request_.output_stays ? "; " + request_.output + " is as it was" : "");
    return has_root_ ? "stopped; nothing was measured, and no file was written."
                     : "stopped; what was measured so far is with rank 0.";
  }

 private:
  static constexpr std::chrono::seconds kSaving{60};  // for the other ranks of this process

  const ValidateRequest& request_;
  bool has_root_;
  std::mutex mutex_;
  std::condition_variable changed_;
  int left_;             // ranks that have not ended
  std::string written_;  // the file that has what was measured; "" before there is one
  bool complete_ = false;
  std::atomic<bool> told_ = false;
};

// Saves what rank `rank` has. Errors: a complete measurement could not be written there; names where it is kept.
void save_measurement(const Timeline& timeline, int rank, const ValidateSource& source, const ValidateRequest& request,
                      Crew& crew) {
  const std::string path = place_of(request.output, request.output_stays, rank, timeline.complete);
  try {
    save_timeline(path, source, timeline);
  } catch (const Error& error) {
    const std::string kept = saved_elsewhere(path, source, timeline);
    if (kept.empty() && !timeline.complete) throw;
    if (kept.empty())
      throw Error(error.failure(), {}, error.what(),
                  "There is no room elsewhere either, and what was measured is lost");
    crew.saved(kept, timeline.complete);
    const std::string where = fmt::format("What was measured is kept in {}: move it to where there is room", kept);
    if (timeline.complete) throw Error(error.failure(), {}, error.what(), where);
    return say(fmt::format("note: {} {}.", error.what(), where));
  }
  crew.saved(path, timeline.complete);
  if (rank == 0 && path != request.output && caught_signal() == 0)
    say(fmt::format("note: what was measured so far is in {}, marked as incomplete; {} is as it was", path,
                    request.output));
  if (request.trace.empty()) return;
  write_kineto_traces(place_of(request.trace, request.trace_stays, rank, timeline.complete), timeline,
                      source.program.case_name, false);
}

void run_joined(Rendezvous& rendezvous, const ValidateSource& source, const ValidateRequest& request, Crew& crew) {
  const std::jthread watch = stop_watch(rendezvous);
  const int rank = rendezvous.rank();
  if (request.check_iterations > 0) {
    const std::string difference = check_data(source.program, rendezvous, request.options, request.check_iterations);
    rendezvous.leave();
    tell_of_strangers(rendezvous);
    if (!difference.empty())
      throw run_error("the data of the ranks differs from that of a single process: " + difference,
                      "The executor or its kernels are wrong");
    if (rank == 0)
      fmt::print("data equals a single process bit for bit after {} iterations\n", request.check_iterations);
    return;
  }
  const auto save = [&](const Timeline& timeline) {
    // A run that ends in its warm-up has measured nothing.
    if (timeline.complete || !timeline.spans.empty()) save_measurement(timeline, rank, source, request, crew);
  };
  const Timeline timeline = execute(source.program, rendezvous, request.options, save);
  // The run is over for all when the file is written, and failed for all when it is not.
  if (rank == 0) save_or_fail(save, timeline, rendezvous);
  rendezvous.barrier("waiting for rank 0 to write the file");
  rendezvous.leave();
  tell_of_strangers(rendezvous);
  if (rank == 0) print_summary(timeline, request.output);
}

Error out_of_memory() {
  return run_error("out of memory", "Give the ranks of this machine more (ulimit -v), or execute a smaller case");
}

// Nothing is lost by ending the process before the ranks have met, and those that wait for this one would wait for the
// whole limit. Where ranks of other processes are told why by this one's own error, it leaves as it is.
std::unique_ptr<Rendezvous> join(const Launch& launch, const ValidateRequest& request, Crew& crew) {
  try {
    return Rendezvous::join(launch, request.join_limit);
  } catch (const Error& error) {
    if (!launch.launcher.empty()) throw;
    crew.end(static_cast<int>(error.failure()), error.what());
  } catch (const std::bad_alloc&) {
    crew.end(1, out_of_memory().what());
  } catch (const std::system_error& error) {
    crew.end(1, system_failure(error).what());
  }
}

// What breaks outside of the run itself is told to the other ranks as its cause, too: else this one just dies.
[[noreturn]] void fail(Rendezvous& rendezvous, const Error& error) {
  rendezvous.fail(error.what(), "");
  throw run_error(rendezvous.failure(), "");
}

void run_rank(const Launch& launch, const ValidateSource& source, const ValidateRequest& request, Crew& crew,
              std::once_flag& begun) {
  const auto rendezvous = join(launch, request, crew);
  // From here on there is something to lose: the first signal ends the run in order.
  std::call_once(begun, [] { on_stop_signals(OnStop::noted_then_kills); });
  try {
    run_joined(*rendezvous, source, request, crew);
  } catch (const std::bad_alloc&) {
    fail(*rendezvous, out_of_memory());
  } catch (const std::system_error& error) {
    fail(*rendezvous, system_failure(error));
  }
}

// Each in a thread. Errors: of the lowest rank that failed.
void run_ranks(const std::vector<Launch>& ranks, const ValidateSource& source, const ValidateRequest& request,
               Crew& crew) {
  std::once_flag begun;
  run_parts(
      static_cast<int>(ranks.size()),
      [&](int local) {
        const AtEnd ended{[&] { crew.one_ended(); }};
        run_rank(ranks[static_cast<std::size_t>(local)], source, request, crew, begun);
      },
      [&](const Error& error) { crew.end(1, error.what()); });
}

// Told before the run, not after it.
void check_writable_outputs(const ValidateRequest& request) {
  if (request.output.empty()) return;  // with --check-data
  check_writable(request.output);
  if (!request.trace.empty()) check_writable(std::filesystem::path(request.trace) / "rank0.json");
}

// What a GPU does in a second may take a processor days, in which nobody hears anything.
void check_patience(const MachineEntry& machine, const ValidateSource& source, const ValidateRequest& request,
                    const Place& place) {
  if (machine.longest == nullptr) return;
  const LongestOperation longest = machine.longest(source.program, request.options.machine.threads);
  check_longest(longest, request.patience, place);
  if (longest.seconds > kWorthSaying) say("note: " + to_text(longest));
}

int validate(const Arguments& given, const Terminal&) {
  ValidateRequest request = validate_request(given);
  const ValidateSource source = load_source(given);
  const std::vector<Launch> ranks = ranks_here(source.program, request);
  // What no rank can execute is told once, before any is started.
  ProgramPlaces places;
  places.program = {request.program};
  lookup_buffers(source.program, places, 0);
  const MachineEntry& machine = machine_named(request.options.device);
  if (machine.check != nullptr) machine.check(source.program, places);
  check_patience(machine, source, request, places.program);
  if (ranks.front().rank == 0) check_writable_outputs(request);
  Crew crew(request, ranks);
  request.options.give_up = [&crew](const std::string& why) { crew.give_up(why); };
  try {
    run_ranks(ranks, source, request, crew);
  } catch (const Error& error) {
    if (caught_signal() == 0) throw;
    return report_error(128 + caught_signal(), crew.stopped(error.what()));
  }
  return 0;
}

std::string device_help() {
  std::string text = "The device that executes the Program:";
  for (const MachineEntry& machine : machines())
    text += fmt::format(" {} ({}; transports: {}),", machine.name, machine.help, machine.transports);
  text.back() = '.';
  return text;
}

Command validate_program() {
  return {
      .name = "shardsim-validate",
      .summary = "execute the Program of a case on real devices, and write the observed timeline",
      .positionals = source_positionals(),
      .options =
          std::vector<Option>{
              {"output", 'o', "FILE", timeline_kinds()},
              {"device", 0, "NAME", device_help(), std::string(machines().front().name)},
              {"transport", 0, "NAME",
               "How the ranks exchange data. Without this option it is the first transport of the device."},
              {"warmup", 0, "N", "The number of iterations that run first and are not counted.", "50"},
              {"iterations", 0, "N", "The number of iterations that are counted.", "20"},
              {"apart", 0, "",
               "Wait for the end of each iteration, and start the next one at the same time on all ranks."},
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
               "of "
               "this machine, or 64 if that is more.",
               "1"},
              {"trace", 0, "DIR", "Also write a Kineto trace of each rank, DIR/rankN.json."},
              {"check-data", 0, "",
               "Do not measure. Instead check that the rows that are looked up and updated in --iterations iterations "
               "equal those of a single process, bit for bit."},
              {"force", 0, "",
               "Overwrite the output file even if it holds something other than what this command writes."}} +
          source_options(),
      .notes =
          "The ranks are known from the environment variables of torchrun, Open MPI or Slurm, which start one process\n"
          "per rank or per node. Without such a launcher, this process runs all ranks: 256 at most.",
      .examples = {"shardsim lower scenarios/toy.yaml --case flexshard_3tier -o out/toy.program.json",
                   "shardsim-validate out/toy.program.json --warmup 2 --iterations 3 -o out/toy.observed.h5"},
      .run = validate};
}

}  // namespace

int main(int count, char** values) {
  on_stop_signals(OnStop::ends);  // until the ranks have met
  return guarded([&] { return run_program(validate_program(), {values + 1, values + count}, look_at_terminal()); });
}
