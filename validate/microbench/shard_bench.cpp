#include "validate/microbench/shard_bench.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>

#include "base/error.h"
#include "base/statistics.h"
#include "plan/row_hash.h"
#include "validate/microbench/position_draw.h"

namespace shardsim {
namespace {

constexpr std::size_t kLeastRepetitions = 3;
constexpr std::uint64_t kIdSalt = 1000;  // of the keys that draw, as the executor's

// Ids of one table, and where its bags begin in them.
void draw_piece(const ShardSet& set, const Table& table, std::uint64_t seed, BenchInput& input) {
  const AccessDistribution access = table.distribution();
  const PositionDraw positions(access);
  const std::uint64_t key = hash_key(table.name, seed, 1);
  Rng rng(hash_key(table.name, seed, kIdSalt));
  const std::int64_t before = input.offsets.back();
  for (std::int64_t bag = 1; bag <= set.batch; ++bag)
    input.offsets.push_back(before +
                            static_cast<std::int64_t>(std::floor(static_cast<double>(bag) * table.average_length)));
  for (std::int64_t i = before; i < input.offsets.back(); ++i)
    input.indices.push_back(static_cast<std::int64_t>(permute(positions.draw(rng), table.rows, key)));
}

ElementType element_of(const Table& table) {
  if (table.dtype == Dtype::fp32) return ElementType::fp32;
  if (table.dtype == Dtype::fp16) return ElementType::fp16;
  if (table.dtype == Dtype::bf16) return ElementType::bf16;
  throw input_error(table.place, fmt::format("rows of {} are not measured", dtype_name(table.dtype)),
                    "Draw shards of tables in fp32, fp16 or bf16");
}

RowOptimizer optimizer_of(const Workload& workload) {
  for (const RowOptimizer known : {RowOptimizer::sgd, RowOptimizer::rowwise_adagrad, RowOptimizer::adam})
    if (workload.optimizer == optimizer_name(known)) return known;
  throw input_error({}, fmt::format("updates by {} are not measured", workload.optimizer),
                    "Draw shards of a workload with optimizer sgd, rowwise_adagrad or adam");
}

const Table& table_of(const ShardSet& set, const ShardPiece& piece) {
  return set.workload.tables.at(static_cast<std::size_t>(piece.table));
}

double seconds_after(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// The bytes of the tables of the largest shard. Errors: one needs more than the device has.
std::int64_t largest_tables(const BenchDevice& device, const ShardSet& set) {
  std::int64_t tables = 0, beside = 0;
  for (std::size_t shard = 0; shard < set.shards.size(); ++shard) {
    const BenchPoint point = shard_point(set, shard);
    tables = std::max(tables, point.table_bytes());
    beside = std::max(beside, point.need_bytes() - point.table_bytes());
    if (tables + beside <= device.facts().memory_bytes) continue;
    throw run_error(fmt::format("with shard {} {:.2f} GiB are needed, {} gives {:.2f} GiB", shard,
                                static_cast<double>(tables + beside) / 0x1p30, device.facts().name,
                                static_cast<double>(device.facts().memory_bytes) / 0x1p30),
                    "Draw smaller shards, or measure them on a larger device");
  }
  return tables;
}

ShardSeconds measure_shard(BenchDevice& device, const ShardSet& set, std::size_t shard, const ShardOptions& options,
                           const ShardWatch& watch) {
  device.prepare(shard_point(set, shard), draw_shard_input(set, shard, options.seed));
  const auto start = std::chrono::steady_clock::now();
  std::vector<double> forward, backward;
  const auto once = [&](bool counts) {
    for (const auto& [op, times] : {std::pair{BenchOp::lookup, &forward}, {BenchOp::update, &backward}}) {
      if (counts && !options.warm) device.flush();
      const double us = device.run_us(op);
      if (counts) times->push_back(us);
    }
  };
  const auto stopped = [&] { return watch.stop && watch.stop(); };
  for (int i = 0; i < options.warmup && (i == 0 || seconds_after(start) < options.seconds / 5) && !stopped(); ++i)
    once(false);
  while (forward.size() < static_cast<std::size_t>(options.repetitions) && !stopped() &&
         (forward.size() < kLeastRepetitions || seconds_after(start) < options.seconds))
    once(true);
  return {median(forward) * 1e-6, median(backward) * 1e-6};
}

}  // namespace

BenchPoint shard_point(const ShardSet& set, std::size_t shard) {
  BenchPoint point;
  point.op = BenchOp::lookup_update;
  point.optimizer = optimizer_of(set.workload);
  point.batch = set.batch;
  for (const ShardPiece& piece : set.shards.at(shard)) {
    const Table& table = table_of(set, piece);
    point.type = element_of(table);
    point.tables.push_back({static_cast<std::int64_t>(table.rows), piece.columns,
                            static_cast<std::int64_t>(std::ceil(table.average_length))});
  }
  return point;
}

BenchInput draw_shard_input(const ShardSet& set, std::size_t shard, std::uint64_t seed) {
  BenchInput input;
  input.offsets.push_back(0);
  for (const ShardPiece& piece : set.shards.at(shard)) draw_piece(set, table_of(set, piece), seed, input);
  return input;
}

void check_shards(const BenchDevice& device, const ShardSet& set) {
  largest_tables(device, set);
}

void measure_shards(BenchDevice& device, ShardSet& set, const ShardOptions& options, const ShardWatch& watch) {
  set.labels.resize(set.shards.size());
  if (set.shards.empty()) return;
  device.keep_tables(shard_point(set, 0).type, largest_tables(device, set));
  auto done =
      static_cast<std::size_t>(std::ranges::count_if(set.labels, [](const auto& label) { return label.has_value(); }));
  for (std::size_t shard = 0; shard < set.shards.size(); ++shard) {
    if (watch.progress) watch.progress(done, set.shards.size());
    if (set.labels[shard]) continue;
    const ShardSeconds label = measure_shard(device, set, shard, options, watch);
    if (watch.stop && watch.stop()) return;  // fewer repetitions than were asked for make no label
    set.labels[shard] = label;
    if (watch.measured) watch.measured(shard, label);
    ++done;
  }
}

}  // namespace shardsim
