#include <cstring>
#include <set>
#include <tuple>

#include "accuracy/emulated/emulated_scenario.h"
#include "base/error.h"
#include "base/files.h"
#include "base/packed.h"
#include "base/statistics.h"
#include "base/workers.h"
#include "validate/execute/buffers/lookup_buffers.h"
#include "validate/execute/meet/clock.h"
#include "validate/microbench/microbench.h"

namespace shardsim {
namespace {

constexpr int kWarmup = 2, kRepetitions = 7;
constexpr double kTurnsSeconds = 0.4;     // many turns of a scheduler
constexpr std::int64_t kRows = 32768;     // of the table that is read
constexpr std::size_t kCopied = 4 << 20;  // bytes read plus written by the copy
constexpr std::int64_t kLookups[] = {256, 2048, 16384};
constexpr std::int64_t kProducts[] = {32, 512};  // rows of a matrix product of 128 x 128

BenchPoint row_point(BenchOp op, std::int64_t dim, ElementType type, std::int64_t lookups, RowOptimizer optimizer) {
  BenchPoint point;
  point.op = op;
  point.tables = {{kRows, dim, 1}};
  point.batch = lookups;
  point.type = type;
  point.optimizer = optimizer;
  return point;
}

// Replicated rows are summed without an optimizer, which counts as sgd.
std::vector<BenchPoint> points_for(const std::vector<const Workload*>& workloads) {
  std::set<std::tuple<std::int64_t, ElementType, RowOptimizer>> widths;
  for (const Workload* workload : workloads) {
    const RowOptimizer optimizer = optimizer_settings(workload->optimizer, false, {"optimizer"}).optimizer;
    for (const Table& table : workload->tables) {
      const ElementType type = element_type(table.dtype, {"table '" + table.name + "'"});
      widths.insert({table.dim, type, optimizer});
      widths.insert({table.dim, type, RowOptimizer::sgd});
    }
  }
  std::vector<BenchPoint> points;
  for (const auto& [dim, type, optimizer] : widths) {
    for (const std::int64_t lookups : kLookups) {
      points.push_back(row_point(BenchOp::scatter, dim, type, lookups, optimizer));
      if (optimizer == RowOptimizer::sgd)
        points.push_back(row_point(BenchOp::gather, dim, type, lookups, RowOptimizer::none));
    }
  }
  for (const std::int64_t rows : kProducts) {
    BenchPoint product;
    product.op = BenchOp::gemm;
    product.m = rows;
    product.n = product.k = 128;
    points.push_back(product);
  }
  return points;
}

double copy_us() {
  const std::vector<std::byte> from(kCopied / 2);
  std::vector<std::byte> to(kCopied / 2);
  std::vector<double> samples;
  for (int i = 0; i < kWarmup + kRepetitions; ++i) {
    const double start = processor_seconds();
    std::memcpy(to.data(), from.data(), to.size());
    asm volatile("" : : "r"(to.data()) : "memory");  // or the compiler could leave out what nobody reads
    if (i >= kWarmup) samples.push_back(1e6 * (processor_seconds() - start));
  }
  return median(samples);
}

// Returns how many times as long as its processor time something takes while every rank computes. Single operations do
// not show it: most are shorter than a turn of the scheduler, so that few of them wait for one.
double turns() {
  const double began = monotonic_seconds(), processor_began = processor_seconds();
  while (monotonic_seconds() - began < kTurnsSeconds) continue;
  return (monotonic_seconds() - began) / (processor_seconds() - processor_began);
}

MicrobenchOptions bench_options() {
  MicrobenchOptions options;
  options.warmup = kWarmup;
  options.repetitions = kRepetitions;
  return options;
}

// Times of one rank: the copy, an empty call, then the points.
std::vector<double> times_of_rank(const std::vector<BenchPoint>& points) {
  const double longer = turns();  // all ranks begin with it
  const std::unique_ptr<BenchDevice> device = make_cpu_bench_device_by_processor_time();
  std::vector<double> times = {copy_us(), device->launch_floor_us()};
  for (const BenchPoint& point : points)
    times.push_back(measure_point(*device, point, bench_options(), {}).statistics.median);
  for (double& time : times) time *= longer;
  return times;
}

// All at once: the ranks of an emulated cluster share its processors.
std::vector<std::vector<double>> times_of_ranks(int ranks, const std::vector<BenchPoint>& points) {
  WorkerOptions at_once;
  at_once.jobs = ranks;
  const WorkerTask rank{"micro-benchmark of a rank", [&] { return packed(times_of_rank(points)); }};
  std::vector<std::vector<double>> times;
  for (const std::string& sent : run_in_workers(std::vector<WorkerTask>(ranks, rank), at_once))
    times.push_back(unpacked<std::vector<double>>(sent));
  return times;
}

}  // namespace

std::string bench_on_ranks(int ranks, const std::vector<const Workload*>& workloads) {
  const std::vector<BenchPoint> points = points_for(workloads);
  const auto times = times_of_ranks(ranks, points);
  const auto of = [&](std::size_t index) {
    std::vector<double> values;
    for (const std::vector<double>& rank : times) values.push_back(rank[index]);
    return values;
  };
  MeasuredSet set;
  set.device = make_cpu_bench_device(1)->facts();
  set.version = version();
  set.before.copy_bandwidth = set.after.copy_bandwidth = static_cast<double>(kCopied) / (median(of(0)) * 1e-6);
  set.before.launch_floor_us = set.after.launch_floor_us = median(of(1));
  for (std::size_t index = 0; index < points.size(); ++index) {
    MeasuredPoint measured;
    measured.point = points[index];
    measured.samples_us = of(index + 2);
    measured.statistics = sample_statistics(measured.samples_us);
    set.points.push_back(measured);
  }
  return measured_csv(set);
}

}  // namespace shardsim
