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
void draw_piece(const ShardFile& file, const ShardFile::Table& table, std::uint64_t seed, BenchInput& input) {
  const AccessDistribution access(table.access, table.rows, table.pooling, {file.path});
  const PositionDraw positions(access);
  const std::uint64_t key = hash_key(table.name, seed, 1);
  Rng rng(hash_key(table.name, seed, kIdSalt));
  const std::int64_t before = input.offsets.back();
  for (std::int64_t bag = 1; bag <= file.batch; ++bag)
    input.offsets.push_back(before + static_cast<std::int64_t>(std::floor(static_cast<double>(bag) * table.pooling)));
  for (std::int64_t i = before; i < input.offsets.back(); ++i)
    input.indices.push_back(static_cast<std::int64_t>(permute(positions.draw(rng), table.rows, key)));
}

double seconds_after(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// The bytes of the tables of the largest shard. Errors: one needs more than the device has.
std::int64_t largest_tables(const BenchDevice& device, const ShardFile& file) {
  std::int64_t most = 0;
  for (std::size_t shard = 0; shard < file.shards.size(); ++shard) {
    const BenchPoint point = shard_point(file, shard);
    most = std::max(most, point.table_bytes());
    if (point.need_bytes() + most - point.table_bytes() <= device.facts().memory_bytes) continue;
    throw run_error(fmt::format("shard {} needs {:.2f} GiB, {} gives {:.2f} GiB", shard,
                                static_cast<double>(point.need_bytes()) / 0x1p30, device.facts().name,
                                static_cast<double>(device.facts().memory_bytes) / 0x1p30),
                    "Draw smaller shards, or measure them on a larger device");
  }
  return most;
}

ShardLabel measure_shard(BenchDevice& device, const ShardFile& file, std::size_t shard, const ShardOptions& options,
                         const ShardWatch& watch) {
  const BenchPoint point = shard_point(file, shard);
  device.prepare(point, draw_shard_input(file, shard, options.seed));
  const auto start = std::chrono::steady_clock::now();
  std::vector<double> forward, backward;
  const auto once = [&](bool counts) {
    for (const auto& [op, times] : {std::pair{BenchOp::lookup, &forward}, {BenchOp::update, &backward}}) {
      if (!options.warm) device.flush();
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
  return {median(forward) / 1e3, median(backward) / 1e3, static_cast<int>(forward.size())};
}

}  // namespace

BenchPoint shard_point(const ShardFile& file, std::size_t shard) {
  BenchPoint point;
  point.op = BenchOp::lookup_update;
  point.type = file.type;
  point.optimizer = file.optimizer;
  point.batch = file.batch;
  for (const ShardFile::Piece& piece : file.shards.at(shard)) {
    const ShardFile::Table& table = file.tables[piece.table];
    point.tables.push_back(
        {static_cast<std::int64_t>(table.rows), piece.columns, static_cast<std::int64_t>(std::ceil(table.pooling))});
  }
  return point;
}

BenchInput draw_shard_input(const ShardFile& file, std::size_t shard, std::uint64_t seed) {
  BenchInput input;
  input.offsets.push_back(0);
  for (const ShardFile::Piece& piece : file.shards.at(shard)) draw_piece(file, file.tables[piece.table], seed, input);
  return input;
}

void measure_shards(BenchDevice& device, const ShardFile& file, ShardLabels& labels, const ShardWatch& watch) {
  labels.labels.resize(file.shards.size());
  device.keep_tables(file.type, largest_tables(device, file));
  std::size_t done = static_cast<std::size_t>(
      std::ranges::count_if(labels.labels, [](const auto& label) { return label.has_value(); }));
  for (std::size_t shard = 0; shard < file.shards.size(); ++shard) {
    if (watch.progress) watch.progress(done, file.shards.size());
    if (labels.labels[shard]) continue;
    const ShardLabel label = measure_shard(device, file, shard, labels.options, watch);
    if (watch.stop && watch.stop()) return;  // fewer repetitions than were asked for are no label
    labels.labels[shard] = label;
    if (watch.measured) watch.measured(shard, label);
    ++done;
  }
}

}  // namespace shardsim
