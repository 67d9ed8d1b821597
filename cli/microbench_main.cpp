#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>

#include "base/files.h"
#include "base/text.h"
#include "base/units.h"
#include "base/version.h"
#include "cli/arguments.h"
#include "cli/exit_code.h"
#include "cli/progress.h"
#include "cli/save_measured.h"
#include "cli/say.h"
#include "cli/stop_signals.h"
#include "validate/execute/meet/launch.h"
#include "validate/microbench/collective_bench.h"
#include "validate/microbench/sweep.h"

namespace {

using namespace shardsim;

constexpr const char* kHelp =
    "Usage: shardsim-microbench --device cpu|cuda -o FILE [options]\n"
    "Times embedding kernels and matrix products on this machine.\n"
    "  -o, --output FILE   measured.h5 (not in builds for bare nodes), measured.json or measured.csv\n"
    "      --csv FILE      also the table that compute models and `shardsim cluster calibrate` read\n"
    "      --collectives   instead: all-reduce and all-to-all over the ranks of a launcher (torchrun, Open MPI, "
    "Slurm),\n"
    "                      -o FILE.txt in the layout of nccl-tests, for `shardsim collective compare` and\n"
    "                      `shardsim cluster calibrate`\n"
    "      --quick         a few dozen small points instead of the whole sweep: one to three minutes\n"
    "      --threads N     of the CPU (default: as many as it has processors)\n"
    "      --seed N        of indices and sweep (default 1)\n"
    "      --drift P%      how far the limits may move during the sweep (default 3%); beyond, rows get quality C\n"
    "      --force         overwrite a file of another kind\n"
    "  -q, --quiet         no progress\n"
    "Examples:\n"
    "  shardsim-microbench --device cpu --quick -o out/measured.json\n"
    "  shardsim-microbench --device cpu --quick --threads 1 -o out/measured.json --csv out/measured.csv\n";

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

std::int64_t count_of(const Arguments& given, const std::string& name, std::int64_t fallback, std::int64_t most) {
  const auto text = given.value(name);
  if (!text) return fallback;
  const std::int64_t count = parse_count(*text, Arguments::place(name));
  if (count >= 1 && count <= most) return count;
  throw input_error(Arguments::place(name), fmt::format("{} is out of range", count),
                    fmt::format("Give a whole number from 1 to {}", most));
}

MicrobenchOptions options_of(const Arguments& given) {
  MicrobenchOptions options;
  options.seed = static_cast<std::uint64_t>(count_of(given, "seed", 1, std::int64_t{1} << 52));
  if (given.has("quick")) {
    options.warmup = 3;
    options.repetitions = 25;
    options.point_seconds = 0.6;
  }
  if (const auto drift = given.value("drift")) {
    options.most_drift = parse_percent(*drift, Arguments::place("drift")) / 100;
    if (!(options.most_drift > 0))
      throw input_error(Arguments::place("drift"), *drift + " allows nothing", "Give a share above 0%, e.g. 10%");
  }
  return options;
}

Request request_of(const std::vector<std::string>& arguments) {
  const Arguments given(arguments,
                        {{"device", 0, true, false},
                         {"output", 'o', true, false},
                         {"csv", 0, true, false},
                         {"collectives", 0, false, false},
                         {"quick", 0, false, false},
                         {"threads", 0, true, false},
                         {"seed", 0, true, false},
                         {"drift", 0, true, false},
                         {"force", 0, false, false},
                         {"quiet", 'q', false, false}},
                        0, 0, "shardsim-microbench --device cpu|cuda -o FILE; see --help");
  Request request;
  request.output = given.value("output").value_or("");
  if (request.output.empty())
    throw input_error(Arguments::place("output"), "the file to write is missing", "Name it with -o measured.json");
  const auto device = given.value("device");
  if (!device) throw input_error(Arguments::place("device"), "the device is missing", "Name it: --device cpu or cuda");
  request.device = &device_named(*device);
  request.csv = given.value("csv").value_or("");
  request.collectives = given.has("collectives");
  check_output(request.output, given.has("force"),
               request.collectives ? std::vector<std::string>{".txt"} : measured_endings());
  if (!request.csv.empty()) {
    if (ending(request.csv) != ".csv")
      throw input_error(Arguments::place("csv"), excerpt(request.csv) + " does not end in .csv", "End it so");
    check_output(request.csv, given.has("force"), measured_endings());
  }
  request.threads = static_cast<int>(count_of(given, "threads", 0, 4096));
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

int run(const std::vector<std::string>& arguments) {
  for (const std::string& argument : arguments) {
    if (argument == "--help" || argument == "-h") return std::fputs(kHelp, stdout), 0;
    if (argument == "--version") return std::puts(("shardsim-microbench " + version()).c_str()), 0;
  }
  const Request request = request_of(arguments);
  if (request.collectives) return run_collectives(request);
  // Folders that cannot be written are told before the run, not after it.
  AtomicFile{result_target(request.output)};
  if (!request.csv.empty()) AtomicFile{result_target(request.csv)};
  const std::unique_ptr<BenchDevice> device = request.device->make(request.threads);
  const std::int64_t memory = device->facts().memory_bytes;
  const std::vector<BenchPoint> points = request.quick ? quick_sweep(memory) : full_sweep(memory, request.options.seed);
  Progress progress(isatty(STDERR_FILENO) != 0 && !request.quiet);
  const MicrobenchWatch watch{
      [&](std::size_t done, std::size_t all) { progress.show(fmt::format("{} of {} points", done, all)); },
      [] { return caught_signal() != 0; }};
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

}  // namespace

int main(int count, char** values) {
  catch_signals();
  return guarded([&] { return run(std::vector<std::string>(values + 1, values + count)); });
}
