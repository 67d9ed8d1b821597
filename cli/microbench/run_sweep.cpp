#include <fmt/core.h>

#include <ctime>

#include "base/result_folder.h"
#include "base/stop_signals.h"
#include "base/text.h"
#include "cli/arguments/arguments.h"
#include "cli/arguments/progress.h"
#include "cli/file_kinds.h"
#include "cli/microbench/kept.h"
#include "cli/microbench/request.h"
#include "validate/microbench/sweep_journal.h"

namespace shardsim {
namespace {

std::string utc_now() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  char text[32];
  std::strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

// The numbers of points that were left out, by kind: "12 tbe_fwd, 3 gemm".
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

void print_summary(const MeasuredSet& set, const MeasuredBefore& before) {
  int unsteady = 0;
  for (const MeasuredPoint& point : set.points) unsteady += point.unsteady ? 1 : 0;
  fmt::print("{}, {} points\n", set.device.name, set.points.size());
  if (!before.visits.empty())
    fmt::print("{} of a call before this one, taken from its journal\n", counted(before.visits.size(), "measurement"));
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

std::vector<BenchPoint> points_of(const Request& request, std::int64_t memory) {
  std::vector<BenchPoint> points = !request.grid.empty() ? grid_sweep(request.grid, Arguments::place("grid"))
                                   : request.quick       ? quick_sweep(memory)
                                                         : full_sweep(memory, request.options.seed);
  return request.warm ? warm_points(std::move(points)) : points;
}

// The settings that all measurements of one journal share besides the device. The options that end a sweep early or
// judge it are left out: they may be others in the next call.
std::string sweep_text(const Request& request) {
  const MicrobenchOptions& options = request.options;
  const std::string points = !request.grid.empty() ? "grid " + request.grid
                             : request.quick       ? "quick sweep"
                                                   : "whole sweep";
  return fmt::format("{}; {}; seed {}; {}", points, request.warm ? "warm" : "each point's caches", options.seed,
                     counted(static_cast<std::size_t>(options.rounds), "round"));
}

MeasuredSet measured_set(BenchDevice& device, const std::vector<BenchPoint>& points, const Request& request,
                         SweepJournal& journal, const MeasuredBefore& before, Progress& progress) {
  // Nothing is asked between the points: Ctrl-C ends the process at once, whatever it measures.
  const MicrobenchWatch watch{
      [&](std::size_t done, std::size_t all) {
        progress.count("points", static_cast<std::int64_t>(done), static_cast<std::int64_t>(all));
      },
      {},
      [&](const DeviceLimits& limits) { journal.begun(limits); },
      [&](int round, std::size_t point, const MeasuredPoint& visit) { journal.measured(round, point, visit); }};
  MeasuredSet set = measure(device, points, request.options, watch, before);
  progress.clear();
  set.date = utc_now();
  const StopDelay together;
  for (const std::string& path : {request.output, request.csv})
    if (!path.empty())
      write_result(path, request.writer, [&](const std::filesystem::path& hidden) { save_measured(set, hidden); });
  journal.remove();
  say_when_stopped("error: stopped; all was measured and is written.\n");
  return set;
}

}  // namespace

int run_sweep(const Request& request, const Terminal&) {
  check_result(request.output, request.writer);
  if (!request.csv.empty()) check_result(request.csv, request.writer);
  const std::unique_ptr<BenchDevice> device = request.device->make(request.threads);
  SweepJournal journal(request.output, journal_origin(device_identity(device->facts())) + "; " + sweep_text(request));
  const std::vector<BenchPoint> points = points_of(request, journal.memory(device->facts().memory_bytes));
  const MeasuredBefore before = journal.before(points);
  Progress progress("", request.quiet);
  const MeasuredSet set =
      kept(journal.journal(), [&] { return measured_set(*device, points, request, journal, before, progress); });
  print_summary(set, before);
  if (!set.is_steady())
    say(
        fmt::format("warning: the limits moved by {:.1f} % during the sweep, more than {:g} %. The rows get quality C, "
                    "and no fit uses them. Run it on a quieter machine, or allow more with --drift.",
                    100 * set.drift(), 100 * set.options.most_drift));
  return 0;
}

}  // namespace shardsim
