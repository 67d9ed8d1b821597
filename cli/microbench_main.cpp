#include <fmt/core.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>

#include "base/files.h"
#include "base/text.h"
#include "base/units.h"
#include "cli/arguments/process.h"
#include "cli/file_kinds.h"
#include "validate/execute/meet/launch.h"
#include "validate/execute/run/execute.h"
#include "validate/microbench/microbench.h"

namespace {

using namespace shardsim;

struct Request {
  std::string output, csv;
  const BenchDeviceEntry* device = nullptr;
  int threads = 0;
  bool quick = false, quiet = false, collectives = false;
  MicrobenchOptions options;
};

std::string ending(const std::string& path) {
  return std::filesystem::path(path).extension().string();
}

void check_output(const std::string& path, bool force, const std::vector<std::string>& known) {
  if (std::find(known.begin(), known.end(), ending(path)) == known.end())
    throw input_error(Arguments::place("output"), excerpt(path) + " is of no kind that this build writes",
                      "End it in one of " + join(known));
  if (force || !is_file(path)) return;
  const std::string old = read_file(path);
  if (ending(path) == ".txt" && old.starts_with("# Collective test starting")) return;
  if (old.empty() || old.find("shardsim.microbench") != std::string::npos) return;
  if (ending(path) == ".csv" && old.find("shardsim-microbench") != std::string::npos) return;
  throw input_error(Arguments::place("output"), excerpt(path) + " is there and is no measured set",
                    "Name another file, or add --force");
}

const BenchDeviceEntry& device_named(const std::string& name) {
  std::vector<std::string> known;
  for (const BenchDeviceEntry& entry : bench_devices()) {
    if (entry.name == name) return entry;
    known.emplace_back(entry.name);
  }
  if (name == "cuda")
    throw input_error(Arguments::place("device"), "this build has no CUDA part",
                      "Build where nvcc is found, or use --device cpu");
  throw input_error(Arguments::place("device"), "unknown device " + excerpt(name), known_names_hint(name, known));
}

MicrobenchOptions options_of(const Arguments& given) {
  MicrobenchOptions options;
  options.seed = static_cast<std::uint64_t>(*given.count("seed", 1, std::int64_t{1} << 52));
  if (given.has("quick")) {
    options.warmup = 3;
    options.repetitions = 25;
    options.point_seconds = 0.6;
  }
  const std::string drift = given.text("drift");
  options.most_drift = parse_percent(drift, Arguments::place("drift")) / 100;
  if (!(options.most_drift > 0))
    throw input_error(Arguments::place("drift"), drift + " allows nothing", "Give a share above 0%, e.g. 10%");
  return options;
}

Request request_of(const Arguments& given) {
  Request request;
  request.output = given.text("output");
  request.device = &device_named(given.text("device"));
  request.csv = given.text("csv");
  request.collectives = given.has("collectives");
  check_output(request.output, given.has("force"),
               request.collectives ? std::vector<std::string>{".txt"} : measured_endings());
  if (!request.csv.empty()) {
    if (ending(request.csv) != ".csv")
      throw input_error(Arguments::place("csv"), excerpt(request.csv) + " does not end in .csv", "End it so");
    check_output(request.csv, given.has("force"), measured_endings());
  }
  request.threads = static_cast<int>(given.count("threads", 1, 4096).value_or(0));
  request.quick = given.has("quick");
  request.quiet = given.has("quiet");
  request.options = options_of(given);
  return request;
}

std::string utc_now() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  char text[32];
  std::strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

void print_summary(const MeasuredSet& set) {
  int unsteady = 0;
  for (const MeasuredPoint& point : set.points) unsteady += point.unsteady ? 1 : 0;
  fmt::print("{}, {} points\n", set.device.name, set.points.size());
  fmt::print("copy {:.1f} GB/s before, {:.1f} after; cache read {:.1f} and {:.1f} GB/s; empty call {:.1f} us\n",
             set.before.copy_bandwidth / 1e9, set.after.copy_bandwidth / 1e9, set.before.cache_bandwidth / 1e9,
             set.after.cache_bandwidth / 1e9, set.before.launch_floor_us);
  fmt::print("pooled lookup, rows of 256 B: {:.0f} us; streaming read of its bytes: {:.0f} us; ratio {:.2f}\n",
             set.stream.lookup_us, set.stream.stream_us, set.stream.value());
  if (unsteady > 0)
    fmt::print("{} points are unsteady: (P90 - P10) / median above {:.0f} %\n", unsteady,
               100 * set.options.most_spread);
}

// One rank of the sweep of collectives; rank 0 writes.
int run_collectives(const Request& request) {
  const Launch launch = launch_from([](const char* name) { return std::getenv(name); });
  if (launch.world_size < 2)
    throw input_error(Arguments::place("collectives"), "there is one rank only",
                      "Start several: torchrun, mpirun, srun, or shardsim emulate -- shardsim-microbench ...");
  ExecuteOptions options;
  options.device = request.device->name;
  options.warmup = 2;
  options.iterations = request.quick ? 5 : 20;
  options.apart = true;
  const auto rendezvous = Rendezvous::join(launch);
  const std::string text = bench_collectives(*rendezvous, options, collective_sizes(request.quick));
  if (launch.rank == 0) write_file(request.output, text);
  rendezvous->leave();
  if (launch.rank == 0) fmt::print("{}wrote {}\n", text, request.output);
  return 0;
}

int bench(const Arguments& given, const Terminal& terminal) {
  const Request request = request_of(given);
  if (request.collectives) return run_collectives(request);
  // Folders that cannot be written are told before the run, not after it.
  result_target(request.output);
  if (!request.csv.empty()) result_target(request.csv);
  const std::unique_ptr<BenchDevice> device = request.device->make(request.threads);
  const std::int64_t memory = device->facts().memory_bytes;
  const std::vector<BenchPoint> points = request.quick ? quick_sweep(memory) : full_sweep(memory, request.options.seed);
  Progress progress(terminal.stderr_is_terminal && !request.quiet);
  const MicrobenchWatch watch{
      [&](std::size_t done, std::size_t all) { progress.show(fmt::format("{} of {} points", done, all)); },
      terminal.interrupted};
  MeasuredSet set = measure(*device, points, request.options, watch);
  progress.clear();
  if (caught_signal() != 0) return report_error(128 + caught_signal(), "stopped; nothing was written.");
  set.date = utc_now();
  save_measured(set, request.output);
  if (!request.csv.empty()) save_measured(set, request.csv);
  print_summary(set);
  if (!set.is_steady())
    say(
        fmt::format("warning: the limits moved by {:.1f} % during the sweep, more than {:g} %: quality C, which no fit "
                    "uses. Run it on a quieter machine, or allow more with --drift.",
                    100 * set.drift(), 100 * set.options.most_drift));
  return 0;
}

std::string device_help() {
  std::string text = "What is timed:";
  for (const BenchDeviceEntry& device : bench_devices()) text += fmt::format(" {} ({}),", device.name, device.help);
  text.back() = '.';
  return text;
}

Command microbench_program() {
  return {
      .name = "shardsim-microbench",
      .summary = "time embedding kernels and matrix products on this machine",
      .options =
          {{"device", 0, "NAME", device_help(), "", Option::Times::once},
           {"output", 'o', "FILE",
            "Where the measured set goes: a file that ends in one of " + join(measured_endings()) + ".", "",
            Option::Times::once},
           {"csv", 0, "FILE", "Also write the table that compute models and `shardsim cluster calibrate` read."},
           {"collectives", 0, "",
            "Instead time all-reduce and all-to-all over the ranks of a launcher (torchrun, Open MPI, Slurm); -o "
            "FILE.txt "
            "gets the layout of nccl-tests, for `shardsim collective compare` and `shardsim cluster calibrate`."},
           {"quick", 0, "", "Time a few dozen small points instead of the whole sweep: one to three minutes."},
           {"threads", 0, "N", "How many threads of the CPU work; as many as it has processors where it is not given."},
           {"seed", 0, "N", "The seed of indices and sweep.", "1"},
           {"drift", 0, "P%", "How far the limits may move during the sweep; beyond, rows get quality C.", "3%"},
           {"force", 0, "", "Overwrite a file of another kind."},
           {"quiet", 'q', "", "Show no progress."}},
      .examples = {"shardsim-microbench --device cpu --quick -o out/measured.json",
                   "shardsim-microbench --device cpu --quick --threads 1 -o out/measured.json --csv out/measured.csv"},
      .run = bench};
}

}  // namespace

int main(int count, char** values) {
  catch_signals();
  return guarded([&] { return run_program(microbench_program(), {values + 1, values + count}, look_at_terminal()); });
}
