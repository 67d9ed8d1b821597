#include "validate/microbench/shard_bench.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>

#include "base/error.h"
#include "base/text.h"
#include "base/units.h"
#include "models/access/row_hash.h"

namespace shardsim {
namespace {

constexpr std::uint64_t kIdSalt = 1000;  // of the keys that draw, as the executor's; and one more for each call

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

// Returns what the shards need, each figure at its largest. Errors: with one of them it is more than the device has.
DrawnNeed need_of(const BenchDevice& device, const ShardSet& set, const ShardIds& ids) {
  DrawnNeed need;
  for (std::size_t shard = 0; shard < set.shards.size(); ++shard) {
    need.include(shard_point(set, shard), ids.of(shard));
    if (need.bytes() <= device.facts().memory_bytes) continue;
    throw run_error(fmt::format("with shard {} {:.2f} GiB are needed, {} gives {:.2f} GiB", shard,
                                static_cast<double>(need.bytes()) / 0x1p30, device.facts().name,
                                static_cast<double>(device.facts().memory_bytes) / 0x1p30),
                    "Draw smaller shards, or measure them on a larger device");
  }
  return need;
}

// One visit of a shard, every call with other ids.
class ShardVisit {
 public:
  ShardVisit(BenchDevice& device, const ShardIds& ids, const ShardOptions& options, int first_call)
      : device_(device), ids_(ids), options_(options), next_(first_call) {}

  // Figures of the prepared shard.
  ShardSeconds least(const std::function<bool()>& stop) {
    const auto start = std::chrono::steady_clock::now();
    const auto goes_on = [&] { return seconds_after(start) < options_.seconds && !(stop && stop()); };
    const int uncounted = begin(options_.warmup, goes_on);
    begin(options_.repetitions, goes_on);
    const std::vector<HalfTimes> times = device_.end_drawn();
    VisitedShard shard;
    for (std::size_t i = static_cast<std::size_t>(uncounted); i < times.size(); ++i)
      shard.add({1e-6 * times[i].lookup_us, 1e-6 * times[i].update_us});
    return shard.least;
  }

 private:
  // Begins calls, one at least where any are asked for; how many.
  int begin(int calls, const std::function<bool()>& goes_on) {
    int begun = 0;
    for (; begun < calls && (begun == 0 || goes_on()); ++begun) device_.begin_drawn(ids_.salt(next_++), !options_.warm);
    return begun;
  }

  BenchDevice& device_;
  const ShardIds& ids_;
  const ShardOptions& options_;
  int next_;  // whose ids are drawn next
};

// Shards without a label that have had fewer visits than that, in order.
std::vector<std::size_t> to_visit(const ShardSet& set, const std::vector<VisitedShard>& shards, int visits) {
  std::vector<std::size_t> result;
  for (std::size_t shard = 0; shard < set.shards.size(); ++shard)
    if (!set.labels[shard] && shards[shard].visits < visits) result.push_back(shard);
  return result;
}

// "SHARD FORWARD_US BACKWARD_US".
void take_line(const Journal::Line& line, std::vector<VisitedShard>& shards) {
  const std::vector<std::string> parts = split(line.text, ' ');
  if (parts.size() != 3) throw no_line_of(line);
  const auto shard = static_cast<std::size_t>(parse_count(parts[0], line.place));
  const double forward = parse_real(parts[1], line.place), backward = parse_real(parts[2], line.place);
  if (shard >= shards.size() || !(forward > 0) || !(backward > 0)) throw no_line_of(line);
  shards[shard].add({1e-6 * forward, 1e-6 * backward});
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

ShardIds::ShardIds(const ShardSet& set, std::uint64_t seed) : set_(set), seed_(seed) {
  for (const Shard& shard : set.shards)
    for (const ShardPiece& piece : shard) {
      if (!law_of_.try_emplace(piece.table, static_cast<int>(laws_.size())).second) continue;
      laws_.emplace_back(table_of(set, piece).distribution());
    }
}

DrawnIds ShardIds::of(std::size_t shard) const {
  DrawnIds ids;
  ids.bags = set_.batch;
  for (const ShardPiece& piece : set_.shards.at(shard)) {
    const Table& table = table_of(set_, piece);
    ids.add({.law = law_of_.at(piece.table),
             .rows = table.rows,
             .key = hash_key(table.name, seed_, 1),
             .name = fnv1a(table.name),
             .average_length = table.average_length});
  }
  return ids;
}

// With it, mix() of a table's name is hash_key() of the name, the seed and the call.
std::uint64_t ShardIds::salt(int call) const {
  return seed_ * kGolden + kIdSalt + static_cast<std::uint64_t>(call);
}

void check_shards(const BenchDevice& device, const ShardSet& set) {
  need_of(device, set, ShardIds(set, 0));
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
  const ShardIds ids(set, options.seed);
  device.keep(need_of(device, set, ids), ids.laws());
  const int calls = options.warmup + options.repetitions + 1;
  std::size_t done = 0;
  for (int visit = 1; visit <= options.visits; ++visit)
    for (const std::size_t shard : to_visit(set, shards, visit)) {
      if (watch.progress) watch.progress(done++, set.shards.size() * static_cast<std::size_t>(options.visits));
      device.prepare_drawn(shard_point(set, shard), ids.of(shard));
      const ShardSeconds least = ShardVisit(device, ids, options, visit * calls).least(watch.stop);
      if (watch.stop && watch.stop()) return;  // fewer calls than were asked for make no visit
      shards[shard].add(least);
      if (watch.visited) watch.visited(shard, least);
    }
  for (std::size_t shard = 0; shard < shards.size(); ++shard)
    if (!set.labels[shard]) set.labels[shard] = shards[shard].least;
}

ShardJournal::ShardJournal(const std::filesystem::path& output, const std::string& what,
                           std::vector<VisitedShard>& shards)
    : journal_(output, what) {
  for (const Journal::Line& line : journal_.lines()) take_line(line, shards);
}

void ShardJournal::add(std::size_t shard, const ShardSeconds& visit) {
  journal_.add(fmt::format("{} {} {}", shard, shortest(1e6 * visit.forward), shortest(1e6 * visit.backward)));
}

}  // namespace shardsim
