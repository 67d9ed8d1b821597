#include "validate/microbench/shard_bench.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>

#include "base/error.h"
#include "models/access/row_hash.h"
#include "validate/microbench/position_draw.h"

namespace shardsim {
namespace {

constexpr std::uint64_t kIdSalt = 1000;  // of the keys that draw, as the executor's; and one more for each call

// Ids of one table, and where its bags begin in them.
void draw_piece(const ShardSet& set, const Table& table, std::uint64_t seed, int call, BenchInput& input) {
  const AccessDistribution access = table.distribution();
  const PositionDraw positions(access);
  Rng rng(hash_key(table.name, seed, kIdSalt + static_cast<std::uint64_t>(call)));
  const std::int64_t before = input.offsets.back();
  for (std::int64_t bag = 1; bag <= set.batch; ++bag)
    input.offsets.push_back(before +
                            static_cast<std::int64_t>(std::floor(static_cast<double>(bag) * table.average_length)));
  std::vector<std::uint64_t> ids(static_cast<std::size_t>(input.offsets.back() - before));
  for (std::uint64_t& id : ids) id = positions.draw(rng);
  permute_all(ids, table.rows, hash_key(table.name, seed, 1));
  input.indices.insert(input.indices.end(), ids.begin(), ids.end());
}

ElementType element_of(const Table& table) {
  if (table.dtype == Dtype::fp32) return ElementType::fp32;
  if (table.dtype == Dtype::fp16) return ElementType::fp16;
  if (table.dtype == Dtype::bf16) return ElementType::bf16;
  throw input_error(table.place, fmt::format("rows of {} are not measured", dtype_name(table.dtype)),
                    "Draw shards of tables in fp32, fp16 or bf16");
}

RowOptimizer optimizer_of(const Workload& workload) {
  for (const RowOptimizer known :
       {RowOptimizer::sgd, RowOptimizer::rowwise_adagrad, RowOptimizer::adagrad, RowOptimizer::adam})
    if (workload.optimizer == optimizer_name(known)) return known;
  throw input_error({}, fmt::format("updates by {} are not measured", workload.optimizer),
                    "Draw shards of a workload with optimizer sgd, rowwise_adagrad, adagrad or adam");
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

// One visit of a shard, every call with other ids.
class ShardVisit {
 public:
  ShardVisit(BenchDevice& device, const ShardSet& set, std::size_t shard, const ShardOptions& options, int first_call)
      : device_(device), set_(set), shard_(shard), options_(options), next_(first_call) {
    device_.prepare(shard_point(set, shard), draw());
  }

  ShardSeconds least(const std::function<bool()>& stop) {
    const auto start = std::chrono::steady_clock::now();
    const auto goes_on = [&] { return seconds_after(start) < options_.seconds && !(stop && stop()); };
    for (int i = 0; i < options_.warmup && (i == 0 || goes_on()); ++i) call();
    VisitedShard shard;
    for (int i = 0; i < options_.repetitions && (i == 0 || goes_on()); ++i) shard.add(call());
    return shard.least;
  }

 private:
  BenchInput draw() { return draw_shard_input(set_, shard_, options_.seed, next_++); }

  ShardSeconds call() {
    if (calls_++ > 0) device_.give_ids(draw());
    const double forward = timed_us(BenchOp::lookup), backward = timed_us(BenchOp::update);
    return {1e-6 * forward, 1e-6 * backward};
  }

  double timed_us(BenchOp op) {
    if (!options_.warm) device_.flush();
    return device_.run_us(op);
  }

  BenchDevice& device_;
  const ShardSet& set_;
  std::size_t shard_;
  const ShardOptions& options_;
  int next_;  // whose ids are drawn next
  int calls_ = 0;
};

// Shards without a label that have had fewer visits than that, in order.
std::vector<std::size_t> to_visit(const ShardSet& set, const std::vector<VisitedShard>& shards, int visits) {
  std::vector<std::size_t> result;
  for (std::size_t shard = 0; shard < set.shards.size(); ++shard)
    if (!set.labels[shard] && shards[shard].visits < visits) result.push_back(shard);
  return result;
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

BenchInput draw_shard_input(const ShardSet& set, std::size_t shard, std::uint64_t seed, int call) {
  BenchInput input;
  input.offsets.push_back(0);
  for (const ShardPiece& piece : set.shards.at(shard)) draw_piece(set, table_of(set, piece), seed, call, input);
  return input;
}

void check_shards(const BenchDevice& device, const ShardSet& set) {
  largest_tables(device, set);
}

void VisitedShard::add(const ShardSeconds& visit) {
  ++visits;
  least = {std::min(least.forward, visit.forward), std::min(least.backward, visit.backward)};
}

void measure_shards(BenchDevice& device, ShardSet& set, std::vector<VisitedShard> shards, const ShardOptions& options,
                    const ShardWatch& watch) {
  set.labels.resize(set.shards.size());
  shards.resize(set.shards.size());
  if (set.shards.empty()) return;
  device.keep_tables(shard_point(set, 0).type, largest_tables(device, set));
  const int calls = options.warmup + options.repetitions + 1;
  std::size_t done = 0;
  for (int visit = 1; visit <= options.visits; ++visit)
    for (const std::size_t shard : to_visit(set, shards, visit)) {
      if (watch.progress) watch.progress(done++, set.shards.size() * static_cast<std::size_t>(options.visits));
      const ShardSeconds least = ShardVisit(device, set, shard, options, visit * calls).least(watch.stop);
      if (watch.stop && watch.stop()) return;  // fewer calls than were asked for make no visit
      shards[shard].add(least);
      if (watch.visited) watch.visited(shard, least);
    }
  for (std::size_t shard = 0; shard < shards.size(); ++shard)
    if (!set.labels[shard]) set.labels[shard] = shards[shard].least;
}

}  // namespace shardsim
