#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>

#include "base/text.h"
#include "program/program_checker.h"

namespace shardsim {
namespace {

// Ranks that are compared, over all fusion groups: far more than any Program has that was lowered. Files with more are
// left to those who execute them, for looking at all of them would take as long as somebody wants.
constexpr std::size_t kMostCompared = std::size_t{1} << 27;

// The shards of a table that hold the row of a sweep, by their first column.
class OpenShards {
 public:
  explicit OpenShards(const Program& program) : program_(program) {}

  // Leaves those that end before the shard's rows, and adds it. Returns the one that it shares rows and columns with;
  // -1: none.
  int add(int index) {
    const Program::Shard& shard = program_.shard(index);
    while (!ends_.empty() && ends_.begin()->first <= shard.row_begin) {
      open_.erase(ends_.begin()->second);
      ends_.erase(ends_.begin());
    }
    const auto next = open_.lower_bound(shard.column_begin);
    if (next != open_.end() && next->first < shard.column_end) return next->second;
    if (next != open_.begin()) {
      const int before = std::prev(next)->second;
      if (program_.shard(before).column_end > shard.column_begin) return before;
    }
    open_.emplace(shard.column_begin, index);
    ends_.emplace(shard.row_end, shard.column_begin);
    return -1;
  }

 private:
  const Program& program_;
  std::map<std::int64_t, int> open_;
  std::multimap<std::uint64_t, std::int64_t> ends_;
};

std::string extent_text(const Program::Shard& shard) {
  return fmt::format("rows [{}, {}) and columns [{}, {})", shard.row_begin, shard.row_end, shard.column_begin,
                     shard.column_end);
}

}  // namespace

// Every value of a table that has shards is in one of them.
void ProgramChecker::check_cover() const {
  std::vector<std::vector<int>> of_table(program_.tables.size());
  for (std::size_t i = 0; i < program_.shards.size(); ++i) {
    of_table[static_cast<std::size_t>(program_.shards[i].table)].push_back(static_cast<int>(i));
  }
  for (std::size_t table = 0; table < of_table.size(); ++table) {
    if (!of_table[table].empty()) check_cover(table, std::move(of_table[table]));
  }
}

void ProgramChecker::check_cover(std::size_t index, std::vector<int> shards) const {
  const Table& table = program_.tables[index];
  std::ranges::stable_sort(shards, {}, [&](int shard) { return program_.shard(shard).row_begin; });
  OpenShards open(program_);
  std::uint64_t held = 0;
  for (const int shard : shards) {
    const Program::Shard& about = program_.shard(shard);
    if (const int other = open.add(shard); other >= 0) {
      throw input_error(
          place_in(places_.shards, static_cast<std::size_t>(std::max(shard, other))),
          fmt::format("shard {} holds {} of table {}, and shard {} {}: some of them are in both",
                      std::min(shard, other), extent_text(program_.shard(std::min(shard, other))), excerpt(table.name),
                      std::max(shard, other), extent_text(program_.shard(std::max(shard, other)))),
          "Let every row and column be in one shard");
    }
    held += about.rows() * static_cast<std::uint64_t>(about.columns());
  }
  const std::uint64_t all = table.rows * static_cast<std::uint64_t>(table.dim);
  if (held == all) return;
  throw input_error(place_in(places_.shards, static_cast<std::size_t>(shards.front())),
                    fmt::format("the shards of table {} hold {} of its {} values ({} rows of {} columns)",
                                excerpt(table.name), with_thousands(static_cast<std::int64_t>(held)),
                                with_thousands(static_cast<std::int64_t>(all)), table.rows, table.dim),
                    "Let every row and column be in one shard");
}

// Checks that the operations of a fusion group agree on its rows and ids.
void ProgramChecker::check_fusion_ops() const {
  std::vector<FusionOps> of(program_.fusions.size());
  for (const Op& op : program_.ops) {
    if (op.fusion < 0) continue;
    FusionOps& ops = of[static_cast<std::size_t>(op.fusion)];
    if (op.role == OpRole::lookup) ops.lookups.push_back(op.id);
    if (op.role == OpRole::update || op.role == OpRole::sum_gradient) ops.updates.push_back(op.id);
    if (op.role == OpRole::exchange_ids) ops.ids.push_back(op.id);
    if (op.role == OpRole::reduce_gradient) ops.reduces.push_back(op.id);
  }
  std::size_t left = kMostCompared;
  for (std::size_t fusion = 0; fusion < of.size(); ++fusion) {
    check_reduced(fusion, of[fusion]);
    const std::size_t cost =
        (of[fusion].lookups.size() + of[fusion].updates.size() + 1) * static_cast<std::size_t>(program_.world_size);
    if (of[fusion].lookups.empty() || cost > left) continue;
    left -= cost;
    const std::vector<double> looked_up = lookups_on_ranks(of[fusion].lookups);
    if (of_one_batch(of[fusion].lookups, of[fusion].updates)) check_updated(of[fusion], looked_up);
    const bool one_list = program_.fusions[fusion].kind == TableKind::pooled || of[fusion].lookups.size() == 1;
    if (one_list && of[fusion].ids.size() == 1 && of_one_batch(of[fusion].lookups, of[fusion].ids))
      check_asked(fusion, of[fusion], looked_up);
  }
}

// Batches that are drawn differ, so what a pipeline does for a later one is not compared.
bool ProgramChecker::of_one_batch(const std::vector<int>& ops, const std::vector<int>& others) const {
  const int ahead = program_.op(ops.front()).batches_ahead;
  const auto same = [&](int id) { return program_.op(id).batches_ahead == ahead; };
  return std::ranges::all_of(ops, same) && std::ranges::all_of(others, same);
}

std::vector<double> ProgramChecker::lookups_on_ranks(const std::vector<int>& ops) const {
  std::vector<double> sums(static_cast<std::size_t>(program_.world_size), 0.0);
  for (const int id : ops) {
    const Op& op = program_.op(id);
    const std::size_t ranks = op.ranks.empty() ? sums.size() : op.ranks.size();
    for (std::size_t i = 0; i < ranks; ++i) {
      sums[op.ranks.empty() ? i : static_cast<std::size_t>(op.ranks[i])] += op.lookups.at(i);
    }
  }
  return sums;
}

// Every row that was looked up gets a gradient.
void ProgramChecker::check_updated(const FusionOps& ops, const std::vector<double>& looked_up) const {
  if (ops.updates.empty()) return;
  const std::vector<double> updated = lookups_on_ranks(ops.updates);
  for (std::size_t rank = 0; rank < updated.size(); ++rank) {
    if (std::abs(updated[rank] - looked_up[rank]) < 0.5) continue;
    fail_op(program_.op(ops.lookups.front()),
            fmt::format("the lookups of its fusion group read {:.0f} rows on rank {}, and its updates have gradients "
                        "for {:.0f}",
                        looked_up[rank], rank, updated[rank]),
            "Let 'lookups' and 'ranks' of a lookup be those of the update of its rows");
  }
}

// Owners read as many rows as they are asked for; a source may have rounded what it asks of each shard by one id.
void ProgramChecker::check_asked(std::size_t fusion, const FusionOps& ops, const std::vector<double>& looked_up) const {
  const auto shards = static_cast<double>(program_.fusions[fusion].shards.size());
  const Op& ids = program_.op(ops.ids.front());
  const std::vector<std::vector<int>>& sets = program_.groups.at(ids.group);
  ByteMatrix matrix;
  std::vector<std::int64_t> received;
  for (std::size_t set = 0; set < sets.size(); ++set) {
    if (set == 0 || ids.matrix.per_set) {
      matrix = resolve_matrix(program_, ids.matrix, set);
      received = matrix.all_received(static_cast<int>(sets[set].size()));
    }
    for (std::size_t i = 0; i < received.size(); ++i) {
      const double asked = static_cast<double>(received[i]) / static_cast<double>(matrix.unit_bytes);
      const double read = looked_up[static_cast<std::size_t>(sets[set][i])];
      if (std::abs(asked - read) <= shards * static_cast<double>(received.size())) continue;
      fail_op(program_.op(ops.lookups.front()),
              fmt::format(
                  "the lookups of its fusion group read {:.0f} rows on rank {}, and matrix {} asks it for {:.0f}", read,
                  sets[set][i], excerpt(program_.matrices[static_cast<std::size_t>(ids.matrix.index)].name), asked),
              "Let 'lookups' be the ids that the rank receives");
    }
  }
}

// The all_reduce holds at least the rows of which it sums the gradients.
void ProgramChecker::check_reduced(std::size_t index, const FusionOps& ops) const {
  if (ops.reduces.empty()) return;
  double rows = 0, summed = 0;
  for (const int shard : program_.fusions[index].shards) {
    const Program::Shard& held = program_.shard(shard);
    if (!replicated(held.strategy)) continue;
    rows += static_cast<double>(held.rows()) * static_cast<double>(held.columns()) *
            dtype_bytes(program_.table_of(shard).dtype) / held.shards();
  }
  for (const int id : ops.reduces) summed += static_cast<double>(program_.op(id).bytes);
  if (summed >= std::floor(rows)) return;
  fail_op(program_.op(ops.reduces.front()),
          fmt::format("{} {:.0f} bytes, and the rows of fusion group {} have {:.0f} on each holder",
                      ops.reduces.size() > 1 ? "it and those like it sum" : "it sums", summed,
                      excerpt(program_.fusions[index].name), rows),
          "Let 'bytes' be those of all rows whose gradients are summed");
}

}  // namespace shardsim
