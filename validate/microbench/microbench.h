#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "program/program.h"
#include "validate/microbench/bench_device.h"
#include "validate/microbench/bench_input.h"

namespace shardsim {

class CollectiveRows;
class Rendezvous;
struct ExecuteOptions;
struct Launch;

// The statistics of repeated times; quantiles interpolate linearly between neighbours. Empty input gives zeros.
struct SampleStatistics {
  double median = 0, p10 = 0, p90 = 0, min = 0;
  double spread() const { return median > 0 ? (p90 - p10) / median : 0; }
};

SampleStatistics sample_statistics(std::vector<double> samples);

struct MicrobenchOptions {
  std::uint64_t seed = 1;
  int warmup = 10;
  int repetitions = 100;
  int least_repetitions = 5;
  double point_seconds = 10;  // no repetition of a point begins after so long, flushes included, once there are enough
  double most_spread = 0.10;  // of (P90 - P10) / median: a point above it is run once more, and flagged if it stays
  double most_drift = 0.03;   // of the limits, before against after: a sweep above it has no quality A
  bool stream = true;         // also the ratio of StreamRatio
  int rounds = 1;             // over all points, one after the other, so that a slow minute does not hide in one point
  double budget_seconds = 0;  // no point begins after so long; 0: none is left out
};

// The limits of a device, by its own measure.
struct DeviceLimits {
  double copy_bandwidth = 0, cache_bandwidth = 0;  // bytes/s
  double launch_floor_us = 0;
};

struct MeasuredPoint {
  BenchPoint point;
  Rotation rotation;               // how its calls were kept apart
  int calls = 0;                   // back to back in one sample; more than one only where memory rotates
  std::vector<double> samples_us;  // in the order they were taken; of several calls their mean
  std::vector<double> rounds_us;   // the median of each round
  SampleStatistics statistics;
  bool unsteady = false;
  std::vector<std::int64_t> distinct;    // [tables]
  std::vector<double> access_histogram;  // [17], see BenchInput
};

// The pooled lookup of rows of 256 bytes from a table far above the caches, compared with a streaming read of the bytes
// it moves (rows, indices, offsets, output), by the same threads in the same run.
struct StreamRatio {
  double lookup_us = 0, stream_us = 0;
  double value() const { return stream_us > 0 ? lookup_us / stream_us : 0; }
};
StreamRatio stream_ratio(BenchDevice& device, const MicrobenchOptions& options);

struct MeasuredSet {
  DeviceFacts device;
  MicrobenchOptions options;
  DeviceLimits before, after;
  StreamRatio stream;
  std::vector<MeasuredPoint> points;
  std::vector<BenchPoint> left_out;  // for time, or for memory
  std::string version, date;         // of the harness; UTC, by who writes

  double drift() const;  // largest relative change of the two bandwidths
  bool is_steady() const { return drift() <= options.most_drift; }
};

struct MicrobenchWatch {
  std::function<void(std::size_t done, std::size_t all)> progress;
  std::function<bool()> stop;  // asked between repetitions; then measure() returns what it has
  std::function<void(const DeviceLimits&)> begun;
  std::function<void(int round, std::size_t point, const MeasuredPoint& visit)> measured;  // in this call
};

// The measurements of an earlier process on the same points, which are not made again.
struct MeasuredBefore {
  std::optional<DeviceLimits> limits;                           // before the first point
  std::map<std::pair<int, std::size_t>, MeasuredPoint> visits;  // by round and number of the point
};

// Times every point: warm-up, then repetitions. Unless the point is warm, calls use copies of its memory in turn, or
// the caches are flushed before every call (rotation_of). Median of the repetitions, raw samples kept.
MeasuredSet measure(BenchDevice& device, std::span<const BenchPoint> points, const MicrobenchOptions& options,
                    const MicrobenchWatch& watch, const MeasuredBefore& before = {});

// The same of one point, without the limits of the device around it.
MeasuredPoint measure_point(BenchDevice& device, const BenchPoint& point, const MicrobenchOptions& options,
                            const MicrobenchWatch& watch);

// The set as a table with the columns of the public embedding measurements (docs/formats/measurements.md):
// one row per point, and one per limit (op `copy`, `cache_read`, `empty_call`). Quality A, or C where the limits
// drifted by more than was allowed.
std::string measured_csv(const MeasuredSet& set);

// Everything, raw samples included, as one JSON object: schema shardsim.microbench/1.
std::string measured_json(const MeasuredSet& set);

// The set with its raw samples as an HDF5 file that xarray opens, schema shardsim.microbench/1
// (docs/formats/measurements.md): axes point, sample, bin, table and fact. Written whole or not at all.
void save_measured_hdf5(const MeasuredSet& set, const std::filesystem::path& path);

// The points that a sweep runs. All are drawn from the seed alone, and leave out what needs more than `memory` bytes.

// A few dozen small points of every kind, enough to fit a roofline: a minute on two cores.
std::vector<BenchPoint> quick_sweep(std::int64_t memory);

// The whole sweep: every value of every axis around T8, E 1e6, D64, L32, B8192; `hypercube` shapes of a Latin hypercube
// over all axes; `mixed` calls of unequal tables; the shapes of published measurements; sequence kernels; products of
// matrices. Shapes with tables are timed forward, backward, and both.
struct SweepSize {
  int hypercube = 500;
  int mixed = 200;
};
std::vector<BenchPoint> full_sweep(std::int64_t memory, std::uint64_t seed, const SweepSize& size = {});

// The grid by which a GPU is known, the most useful points first: pooled lookups and updates of one table of 4 million
// rows (dims 16 to 512, pooling 1 to 100, even and by Zipf's law, fp32 and fp16, every optimizer), and of 8 to 120
// tables in one call (batches of 512 to 65,536), gathers, sorts, products in four precisions, copies. `size`: full,
// small (to try a program) or probe (a few points of the full grid, for a profiler). The caller asks whether a device
// can do a point, and has the memory. Errors: another size.
std::vector<BenchPoint> grid_sweep(const std::string& size, const Place& place);

// The same points, every one warm: with what its own calls leave in the caches. None comes twice.
std::vector<BenchPoint> warm_points(std::vector<BenchPoint> points);

// Sizes of a sweep: per rank, as nccl-tests counts them.
std::vector<std::int64_t> collective_sizes(bool quick);

// The table of nccl-tests: its head, where ranks say their hosts by node, and a row. busbw follows from the kind. Times
// in us; in_place_us below 0: the table has no such columns.
struct CollectiveTable {
  std::vector<std::string> hosts;  // [node]
  std::string device;
  int world_size = 0, ranks_per_node = 1;
  bool in_place = false;
};
std::string table_head(OpClass kind, const CollectiveTable& table);
std::string table_row(OpClass kind, std::int64_t bytes, const CollectiveTable& table, double out_of_place_us,
                      double in_place_us = -1);
// One collective on all ranks, which are members of one group "world": op 0 of stream 0.
Program collective_program(const Launch& launch, OpClass kind, std::int64_t bytes);

// Runs all-reduce and all-to-all of those sizes over all ranks, each iteration started together, but for the rows of
// an earlier run. On rank 0 `rows` then has what nccl-tests would print of it: text that `shardsim collective compare`
// and `shardsim cluster calibrate` read. Times are medians over the iterations, of the slowest rank. Every rank calls.
// Returns comments to stand above the rows: none. Errors: those of execute() and of CollectiveRows.
std::string bench_collectives(Rendezvous& rendezvous, const ExecuteOptions& options,
                              const std::vector<std::int64_t>& sizes, CollectiveRows& rows);

}  // namespace shardsim
