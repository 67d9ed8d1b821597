#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <optional>

#include "base/files.h"
#include "base/text.h"
#include "base/units.h"
#include "cli/arguments/process.h"
#include "cli/file_kinds.h"
#include "models/access/row_hash.h"
#include "plan/learned/label_file.h"
#include "validate/execute/meet/launch.h"
#include "validate/execute/meet/secret.h"
#include "validate/execute/run/execute.h"
#include "validate/microbench/microbench.h"
#include "validate/microbench/shard_bench.h"

namespace {

using namespace shardsim;

struct Request {
  std::string output, csv;
  const BenchDeviceEntry* device = nullptr;
  int threads = 0;
  std::optional<int> port;  // of the rendezvous of --collectives
  std::string secret_file;  // of the same; "": the secret is in the environment, or there is none
  double join_limit = kJoinLimit;
  std::string grid;  // of which size; "" without
  bool quick = false, quiet = false, collectives = false;
  std::string shards;  // file of shards to time instead of the sweep; "" without
  ShardOptions shard_options;
  MicrobenchOptions options;
};

std::string ending(const std::string& path) {
  return std::filesystem::path(path).extension().string();
}

void check_output(const std::string& path, bool force, const std::vector<std::string>& known) {
  if (std::find(known.begin(), known.end(), ending(path)) == known.end())
    throw input_error(Arguments::place("output"),
                      excerpt(path) + " does not end in a kind of file that this build can write",
                      "Use one of the endings " + join(known));
  if (force || !is_file(path)) return;
  const std::string old = read_file(path);
  if (ending(path) == ".txt" && old.starts_with("# Collective test starting")) return;
  if (old.empty() || old.find("shardsim.microbench") != std::string::npos) return;
  if (old.find("shardsim.shards/1") != std::string::npos) {
    if (old.find("\"forward_us\"") == std::string::npos) return;
    throw input_error(Arguments::place("output"), excerpt(path) + " holds labels of shards",
                      "Choose another name, or add --force to overwrite it");
  }
  if (ending(path) == ".csv" && old.find("shardsim-microbench") != std::string::npos) return;
  throw input_error(Arguments::place("output"),
                    excerpt(path) + " exists and does not hold measurements of shardsim-microbench",
                    "Choose another name, or add --force to overwrite it");
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
  if (const std::string grid = given.text("grid"); !grid.empty()) {
    const bool full = grid == "full";
    options.warmup = full ? 3 : 1;
    options.repetitions = full ? 25 : 2;
    options.least_repetitions = full ? 5 : 1;
    options.point_seconds = 0.4;
    options.stream = full;
    // A profiler counts every call, and its times mean nothing.
    if (grid == "probe") options.most_spread = HUGE_VAL;
  }
  options.rounds = static_cast<int>(*given.count("rounds", 1, 100));
  options.budget_seconds = static_cast<double>(given.count("budget", 1, 86'400).value_or(0));
  const std::string drift = given.text("drift");
  options.most_drift = parse_percent(drift, Arguments::place("drift")) / 100;
  if (!(options.most_drift > 0))
    throw input_error(Arguments::place("drift"), drift + " is not above 0%", "Give for example 10%");
  return options;
}

// Options of --shards alone are refused without it.
ShardOptions shard_options_of(const Arguments& given) {
  if (!given.has("shards")) {
    for (const char* const name : {"visits", "repetitions", "warmup", "seconds", "warm"})
      if (given.has(name))
        throw input_error(Arguments::place(name), "the option has a meaning only together with --shards",
                          "Add --shards FILE, or leave it out");
    return {};
  }
  for (const char* const name : {"quick", "grid", "rounds", "budget", "csv", "collectives", "drift"})
    if (given.has(name))
      throw input_error(Arguments::place(name), "the option has no effect together with --shards", "Leave it out");
  ShardOptions options;
  options.seed = static_cast<std::uint64_t>(*given.count("seed", 1, std::int64_t{1} << 52));
  options.visits = static_cast<int>(*given.count("visits", 1, 1000));
  options.warmup = static_cast<int>(*given.count("warmup", 1, 1000));
  options.repetitions = static_cast<int>(*given.count("repetitions", 1, 100'000));
  options.seconds = static_cast<double>(*given.count("seconds", 1, 86'400));
  options.warm = given.has("warm");
  return options;
}

Request request_of(const Arguments& given) {
  Request request;
  request.output = given.text("output");
  request.device = &device_named(given.text("device"));
  request.csv = given.text("csv");
  request.collectives = given.has("collectives");
  request.shards = given.text("shards");
  request.shard_options = shard_options_of(given);
  std::vector<std::string> endings = measured_endings();
  if (request.collectives) endings = {".txt"};
  if (!request.shards.empty()) endings = {".json"};
  check_output(request.output, given.has("force"), endings);
  if (!request.csv.empty()) {
    if (ending(request.csv) != ".csv")
      throw input_error(Arguments::place("csv"), excerpt(request.csv) + " does not end in .csv",
                        "Choose a name that ends in .csv");
    check_output(request.csv, given.has("force"), measured_endings());
  }
  request.threads = static_cast<int>(given.count("threads", 1, 4096).value_or(0));
  if (const auto port = given.count("port", 1, 65535)) request.port = static_cast<int>(*port);
  request.secret_file = given.text("secret-file");
  request.join_limit = static_cast<double>(*given.count("join-limit", 1, 86'400));
  request.quick = given.has("quick");
  request.grid = given.text("grid");
  if (request.quick && !request.grid.empty())
    throw input_error(Arguments::place("grid"), "it has its own points, beside --quick", "Leave one of them out");
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

// What no time was given for, by its kind: "12 tbe_fwd, 3 gemm".
std::string left_out_text(const MeasuredSet& set) {
  std::vector<std::pair<std::string_view, int>> kinds;
  for (const BenchPoint& point : set.left_out) {
    const std::string_view name = bench_op_name(point.op);
    if (kinds.empty() || kinds.back().first != name) kinds.emplace_back(name, 0);
    ++kinds.back().second;
  }
  std::string text;
  for (const auto& [name, count] : kinds) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, name);
  return text;
}

void print_summary(const MeasuredSet& set) {
  int unsteady = 0;
  for (const MeasuredPoint& point : set.points) unsteady += point.unsteady ? 1 : 0;
  fmt::print("{}, {} points\n", set.device.name, set.points.size());
  fmt::print("copy {:.1f} GB/s before, {:.1f} after; cache read {:.1f} and {:.1f} GB/s; empty call {:.1f} us\n",
             set.before.copy_bandwidth / 1e9, set.after.copy_bandwidth / 1e9, set.before.cache_bandwidth / 1e9,
             set.after.cache_bandwidth / 1e9, set.before.launch_floor_us);
  if (set.stream.stream_us > 0)
    fmt::print("pooled lookup, rows of 256 B: {:.0f} us; streaming read of its bytes: {:.0f} us; ratio {:.2f}\n",
               set.stream.lookup_us, set.stream.stream_us, set.stream.value());
  if (!set.left_out.empty()) fmt::print("left out, for time, memory or this device: {}\n", left_out_text(set));
  if (unsteady > 0)
    fmt::print("{} points are unsteady: (P90 - P10) / median above {:.0f} %\n", unsteady,
               100 * set.options.most_spread);
}

// One rank of the sweep of collectives; rank 0 writes.
int run_collectives(const Request& request) {
  Launch launch = launch_from([](const char* name) { return std::getenv(name); }, request.port);
  if (!request.secret_file.empty()) launch.secret = secret_of_file(request.secret_file);
  if (launch.world_size < 2)
    throw input_error(Arguments::place("collectives"), "there is only one rank",
                      "Start several: torchrun, mpirun, srun, or shardsim emulate -- shardsim-microbench ...");
  ExecuteOptions options;
  options.device = request.device->name;
  options.warmup = 2;
  options.iterations = request.quick ? 5 : 20;
  options.apart = true;
  const auto rendezvous = Rendezvous::join(launch, request.join_limit);
  options.give_up = [](const std::string& why) { std::_Exit(report_error(1, why + ".")); };
  const auto bench = request.device->collectives != nullptr ? request.device->collectives : bench_collectives;
  const std::string text = bench(*rendezvous, options, collective_sizes(request.quick));
  if (launch.rank == 0) write_file(request.output, text);
  rendezvous->leave();
  if (launch.rank == 0) fmt::print("{}wrote {}\n", text, request.output);
  return 0;
}

// Whose times these are, and how they were taken: what labels of one set have in common.
std::string labelled_device(const BenchDevice& device, const ShardOptions& options) {
  std::string text = device.facts().name;
  if (device.facts().num_gpus == 0) text += ", " + counted(static_cast<std::size_t>(device.facts().threads), "thread");
  return text + (options.warm ? ", warm caches" : "");
}

ShardSet shards_of(const std::string& path) {
  LabelFile file = read_label_file(path);
  if (auto* const set = std::get_if<ShardSet>(&file)) return std::move(*set);
  throw input_error({path}, "it holds exchanges, not shards", "Draw shards: shardsim cost-model sample");
}

// Refuses labels that somebody else gave.
void claim_labels(ShardSet& set, const std::string& path, const std::string& provider, const std::string& device) {
  if (set.provider.empty()) set.labels.assign(set.shards.size(), {});
  if (!set.provider.empty() && (set.provider != provider || set.device != device))
    throw input_error({path}, fmt::format("it has labels already, by {} of {}", set.provider, excerpt(set.device)),
                      "Measure the file without labels: labels of different providers or devices are never mixed");
  set.provider = provider;
  set.device = device;
}

// Times the shards of a file; what was measured before an interruption lies in a journal beside the output.
int run_shards(const Request& request, const Terminal& terminal) {
  ShardSet set = shards_of(request.shards);
  const std::uint64_t hash = fnv1a(read_file(request.shards));
  const std::unique_ptr<BenchDevice> device = request.device->make(request.threads);
  const ShardOptions& options = request.shard_options;
  claim_labels(set, request.shards, std::string(request.device->name), labelled_device(*device, options));
  check_shards(*device, set);
  std::vector<VisitedShard> visited(set.shards.size());
  const ShardJournal journal(
      request.output,
      fmt::format("shards {:016x}, {} {}, seed {}, {} visits, {} repetitions after {}, {} s", hash, set.provider,
                  set.device, options.seed, options.visits, options.repetitions, options.warmup, options.seconds),
      visited);
  Progress progress(terminal.stderr_is_terminal && !request.quiet);
  const ShardWatch watch{
      [&](std::size_t done, std::size_t all) { progress.show(fmt::format("{} of {} visits", done, all)); },
      terminal.interrupted, [&](std::size_t shard, const ShardSeconds& visit) { journal.add(shard, visit); }};
  measure_shards(*device, set, visited, options, watch);
  progress.clear();
  if (caught_signal() != 0)
    return report_error(128 + caught_signal(), "stopped; the same command continues where this one stopped.");
  write_file(request.output, label_file_text(set));
  journal.remove();
  fmt::print("{}: {} measured\n", set.device, counted(set.shards.size(), "shard"));
  return 0;
}

int bench(const Arguments& given, const Terminal& terminal) {
  const Request request = request_of(given);
  if (request.collectives) return run_collectives(request);
  if (!request.shards.empty()) return run_shards(request, terminal);
  // Folders that cannot be written are told before the run, not after it.
  result_target(request.output);
  if (!request.csv.empty()) result_target(request.csv);
  const std::unique_ptr<BenchDevice> device = request.device->make(request.threads);
  const std::int64_t memory = device->facts().memory_bytes;
  const std::vector<BenchPoint> points = !request.grid.empty() ? grid_sweep(request.grid, Arguments::place("grid"))
                                         : request.quick       ? quick_sweep(memory)
                                                               : full_sweep(memory, request.options.seed);
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
        fmt::format("warning: the limits moved by {:.1f} % during the sweep, more than {:g} %. The rows get quality C, "
                    "and no fit uses them. Run it on a quieter machine, or allow more with --drift.",
                    100 * set.drift(), 100 * set.options.most_drift));
  return 0;
}

std::string device_help() {
  std::string text = "The device to measure:";
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
            "Write the measurements to this file, whose name ends in one of " + join(measured_endings()) + ".", "",
            Option::Times::once},
           {"csv", 0, "FILE",
            "Also write the CSV table that the compute model `measured` and `shardsim cluster calibrate` read."},
           {"collectives", 0, "",
            "Measure all-reduce and all-to-all instead, over the ranks that a launcher started (torchrun, Open MPI, "
            "Slurm). -o FILE.txt then gets the layout of nccl-tests, which `shardsim collective compare` and `shardsim "
            "cluster calibrate` read."},
           {"port", 0, "N", "With --collectives: the port on which rank 0 listens; it must be the same on every rank."},
           {"secret-file", 0, "FILE",
            "With --collectives: a file with the secret that all ranks share, instead of the environment variable "
            "SHARDSIM_SECRET."},
           {"join-limit", 0, "SECONDS",
            "With --collectives: the time that ranks wait for each other at the start, in seconds.", "120"},
           {"shards", 0, "FILE",
            "Measure the shards of this file instead, forward and backward; `shardsim cost-model sample` writes such "
            "files. -o FILE.json gets the shards with their times. What is measured is kept beside that file, so that "
            "the same command continues after an interruption."},
           {"visits", 0, "N",
            "With --shards: the number of passes over all shards. The shortest time of a shard is kept.", "3"},
           {"repetitions", 0, "N",
            "With --shards: the number of calls that are measured each time a shard's turn comes.", "4"},
           {"warmup", 0, "N", "With --shards: the number of calls before these, which are not counted.", "2"},
           {"seconds", 0, "N",
            "With --shards: stop measuring a shard after this number of seconds, even with fewer calls than asked for, "
            "and go on with the next one.",
            "3"},
           {"warm", 0, "", "With --shards: do not flush the caches between calls."},
           {"quick", 0, "", "Measure a few dozen small points instead of the whole sweep, in one to three minutes."},
           {"grid", 0, "SIZE",
            "Measure a grid of points that describes a GPU instead of the sweep: full, small (to try the program) or "
            "probe (a few points, to be run under a profiler)."},
           {"rounds", 0, "N", "The number of passes over all points. A time is the median of the calls of all passes.",
            "1"},
           {"budget", 0, "SECONDS",
            "Begin no further point after this number of seconds. What is left out is named at the end."},
           {"threads", 0, "N", "The number of CPU threads. Without this option it is the number of processors."},
           {"seed", 0, "N", "The random seed of the indices and of the order of the sweep.", "1"},
           {"drift", 0, "P%",
            "The largest change of the machine's own limits, such as its copy rate, during the sweep. Rows of a sweep "
            "with a larger change get quality C and are not used for fits.",
            "3%"},
           {"force", 0, "",
            "Overwrite the output file even if it holds something else, or times of shards that were measured before."},
           {"quiet", 'q', "", "Do not print the progress."}},
      .examples = {"shardsim-microbench --device cpu --quick -o out/measured.json",
                   "shardsim-microbench --device cpu --quick --threads 1 -o out/measured.json --csv out/measured.csv"},
      .run = bench};
}

}  // namespace

int main(int count, char** values) {
  on_stop_signals(OnStop::noted);
  return guarded([&] { return run_program(microbench_program(), {values + 1, values + count}, look_at_terminal()); });
}
