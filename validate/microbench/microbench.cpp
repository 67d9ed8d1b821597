#include "validate/microbench/microbench.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>

#include "base/files.h"
#include "base/rng.h"
#include "base/statistics.h"
#include "models/access/row_hash.h"

namespace shardsim {

SampleStatistics sample_statistics(std::vector<double> samples) {
  if (samples.empty()) return {};
  return {median(samples), quantile(samples, 0.1), quantile(samples, 0.9), std::ranges::min(samples)};
}

namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

DeviceLimits limits_of(BenchDevice& device) {
  DeviceLimits limits;
  limits.copy_bandwidth = device.copy_bandwidth();
  limits.cache_bandwidth = device.cache_bandwidth();
  limits.launch_floor_us = device.launch_floor_us();
  return limits;
}

double change(double before, double after) {
  return before > 0 ? std::abs(after / before - 1) : 0;
}

bool stopped(const MicrobenchWatch& watch) {
  return watch.stop && watch.stop();
}

// Calls that take so long together are timed with an error of a percent or less: events are half a microsecond exact.
constexpr double kTimedUs = 100;
constexpr double kMostCalls = 16;

// Returns how many calls of a rotating point lie between two events, by the shortest of those before.
int calls_together(double call_us) {
  return static_cast<int>(std::clamp(std::ceil(kTimedUs / call_us), 1.0, kMostCalls));
}

// The prepared point: warm-up and repetitions within the time that a point may take. Fills in samples_us, and calls
// where no round before it has.
void repeat(BenchDevice& device, const MicrobenchOptions& options, const MicrobenchWatch& watch,
            MeasuredPoint& result) {
  const Clock::time_point start = Clock::now();
  const auto in_time = [&](double share) { return seconds_since(start) < share * options.point_seconds; };
  double shortest = HUGE_VAL;
  for (int i = 0; i < options.warmup && (i == 0 || in_time(0.2)) && !stopped(watch); ++i)
    shortest = std::min(shortest, device.run_us());
  const bool known = shortest > 0 && shortest < HUGE_VAL;
  if (result.calls == 0)
    result.calls = result.rotation.state == CacheState::rotated && known ? calls_together(shortest) : 1;
  std::vector<double>& samples = result.samples_us;
  samples.clear();
  const auto enough = [&] { return static_cast<int>(samples.size()) >= options.least_repetitions && !in_time(1); };
  while (static_cast<int>(samples.size()) < options.repetitions && !enough() && !stopped(watch)) {
    if (result.rotation.state == CacheState::flushed) device.flush();
    samples.push_back(device.run_us(result.calls));
  }
}

// The facts that the indices of a point depend on: not the width of its rows, their type or what is done with them.
std::string drawn_text(const BenchPoint& point) {
  std::string text =
      fmt::format("{} {} {} {} {}", point.op == BenchOp::sort, point.law.text(), point.batch, point.m, point.k);
  for (const auto& table : point.tables) text += fmt::format(" {}:{}", table.rows, table.pooling);
  return text;
}

// Forward and backward of a shape are timed on one batch.
std::uint64_t seed_of(const BenchPoint& point, std::uint64_t seed) {
  return mix(fnv1a(drawn_text(point)), seed);
}

// Batches that several points share; drawing millions of indices takes longer than timing them.
class DrawnInputs {
 public:
  explicit DrawnInputs(std::uint64_t seed) : seed_(seed) {}

  const BenchInput& of(const BenchPoint& point) {
    const auto [entry, is_new] = inputs_.try_emplace(drawn_text(point));
    if (!is_new) return entry->second;
    if (held_ > kMostHeld) {
      inputs_.clear();
      held_ = 0;
    }
    BenchInput& input = inputs_[drawn_text(point)] = draw_input(point, seed_of(point, seed_));
    held_ += 8 * (input.indices.size() + input.offsets.size());
    return input;
  }

 private:
  static constexpr std::size_t kMostHeld = std::size_t{1} << 30;  // bytes
  std::uint64_t seed_;
  std::size_t held_ = 0;
  std::map<std::string, BenchInput> inputs_;
};

void judge(MeasuredPoint& measured, const MicrobenchOptions& options) {
  measured.statistics = sample_statistics(measured.samples_us);
  measured.unsteady = measured.statistics.spread() > options.most_spread;
}

MeasuredPoint measure_drawn(BenchDevice& device, const BenchPoint& point, const BenchInput& input,
                            const MicrobenchOptions& options, const MicrobenchWatch& watch, int calls = 0) {
  MeasuredPoint result;
  result.calls = calls;
  result.point = point;
  result.rotation = rotation_of(device, point, input);
  device.prepare(point, input, result.rotation.copies);
  result.distinct = input.distinct;
  result.access_histogram = input.access_histogram;
  for (int attempt = 0; attempt < 2; ++attempt) {
    repeat(device, options, watch, result);
    judge(result, options);
    if (!result.unsteady) break;
  }
  result.rounds_us = {result.statistics.median};
  return result;
}

// Another round over a point that has been measured.
void add_round(MeasuredPoint& measured, const MeasuredPoint& again, const MicrobenchOptions& options) {
  if (again.samples_us.empty()) return;
  measured.samples_us.insert(measured.samples_us.end(), again.samples_us.begin(), again.samples_us.end());
  measured.rounds_us.push_back(sample_statistics(again.samples_us).median);
  judge(measured, options);
}

// All points, round after round, those of an earlier process taken from there.
class Sweep {
 public:
  Sweep(BenchDevice& device, std::span<const BenchPoint> points, const MicrobenchOptions& options,
        const MicrobenchWatch& watch, const MeasuredBefore& before)
      : device_(device), points_(points), options_(options), watch_(watch), before_(before), inputs_(options.seed) {}

  void run(MeasuredSet& set) {
    for (std::size_t i = 0; i < points_.size() && !stopped(watch_); ++i) first_round(i, set);
    for (int round = 1; round < options_.rounds; ++round)
      for (std::size_t at = 0; at < set.points.size() && !stopped(watch_); ++at) {
        const MeasuredPoint* const known = known_visit(round, numbers_[at]);
        if (known == nullptr && !in_time()) continue;
        MeasuredPoint& measured = set.points[at];
        add_round(measured, known != nullptr ? *known : visit(round, numbers_[at], measured.calls), options_);
        progress();
      }
  }

 private:
  bool in_time() const { return options_.budget_seconds <= 0 || seconds_since(start_) < options_.budget_seconds; }

  const MeasuredPoint* known_visit(int round, std::size_t point) const {
    const auto found = before_.visits.find({round, point});
    return found == before_.visits.end() ? nullptr : &found->second;
  }

  void first_round(std::size_t number, MeasuredSet& set) {
    const BenchPoint& point = points_[number];
    const MeasuredPoint* const known = known_visit(0, number);
    const bool fits = device_.can(point) && point.need_bytes() <= set.device.memory_bytes;
    if (known == nullptr && (!fits || !in_time())) {
      set.left_out.push_back(point);
      return;
    }
    set.points.push_back(known != nullptr ? *known : visit(0, number, 0));
    numbers_.push_back(number);
    MeasuredPoint& measured = set.points.back();
    judge(measured, options_);
    measured.rounds_us = {measured.statistics.median};
    progress();
  }

  MeasuredPoint visit(int round, std::size_t number, int calls) {
    const BenchPoint& point = points_[number];
    MeasuredPoint result = measure_drawn(device_, point, inputs_.of(point), options_, watch_, calls);
    if (watch_.measured && !stopped(watch_)) watch_.measured(round, number, result);
    return result;
  }

  void progress() {
    const std::size_t all = points_.size() * static_cast<std::size_t>(std::max(options_.rounds, 1));
    if (watch_.progress) watch_.progress(++done_, all);
  }

  BenchDevice& device_;
  std::span<const BenchPoint> points_;
  const MicrobenchOptions& options_;
  const MicrobenchWatch& watch_;
  const MeasuredBefore& before_;
  DrawnInputs inputs_;
  const Clock::time_point start_ = Clock::now();
  std::vector<std::size_t> numbers_;  // of the measured points
  std::size_t done_ = 0;
};

}  // namespace

StreamRatio stream_ratio(BenchDevice& device, const MicrobenchOptions& options) {
  BenchPoint point;
  point.op = BenchOp::lookup;
  point.tables = {{1'000'000, 64, 32}};
  point.batch = 8192;
  const BenchInput input = draw_input(point, seed_of(point, options.seed));
  const auto moved = static_cast<std::int64_t>(8 * (input.indices.size() + input.offsets.size()));
  MeasuredPoint flushed;
  flushed.point = point;
  device.prepare(point, input);
  repeat(device, options, {}, flushed);
  StreamRatio ratio;
  ratio.lookup_us = sample_statistics(flushed.samples_us).min;
  ratio.stream_us = device.read_us(point.row_bytes() + 4 * point.batch * point.tables[0].dim + moved);
  return ratio;
}

double MeasuredSet::drift() const {
  return std::max(change(before.copy_bandwidth, after.copy_bandwidth),
                  change(before.cache_bandwidth, after.cache_bandwidth));
}

MeasuredSet measure(BenchDevice& device, std::span<const BenchPoint> points, const MicrobenchOptions& options,
                    const MicrobenchWatch& watch, const MeasuredBefore& before) {
  MeasuredSet set;
  set.device = device.facts();
  set.options = options;
  set.version = version();
  set.before = before.limits ? *before.limits : limits_of(device);
  if (watch.begun) watch.begun(set.before);
  Sweep(device, points, options, watch, before).run(set);
  if (stopped(watch)) return set;
  if (options.stream) set.stream = stream_ratio(device, options);
  set.after = limits_of(device);
  return set;
}

std::vector<BenchPoint> warm_points(std::vector<BenchPoint> points) {
  std::vector<BenchPoint> warm;
  for (BenchPoint& point : points) {
    point.warm = true;
    if (std::ranges::find(warm, point) == warm.end()) warm.push_back(std::move(point));
  }
  return warm;
}

MeasuredPoint measure_point(BenchDevice& device, const BenchPoint& point, const MicrobenchOptions& options,
                            const MicrobenchWatch& watch) {
  return measure_drawn(device, point, draw_input(point, seed_of(point, options.seed)), options, watch);
}

}  // namespace shardsim
