#include "study/result/rank_loads.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "base/statistics.h"
#include "models/load/row_curves.h"
#include "program/program.h"

namespace shardsim {
namespace {

constexpr std::size_t kNamedTables = 5;

std::map<int, std::vector<double>> by_table(const Program& program) {
  std::map<int, std::vector<double>> all;
  for (const Program::Shard& shard : program.shards) {
    std::vector<double>& of_table =
        all.try_emplace(shard.table, static_cast<std::size_t>(program.world_size)).first->second;
    const std::vector<double> lookups = lookups_of(program, shard);
    for (const std::vector<int>& set : shard.holders) {
      for (std::size_t i = 0; i < set.size(); ++i) of_table[static_cast<std::size_t>(set[i])] += lookups[i];
    }
  }
  return all;
}

void add(std::vector<double>& sums, const std::vector<double>& more) {
  std::ranges::transform(sums, more, sums.begin(), std::plus<>());
}

std::vector<double> distinct_rows(const Program& program) {
  std::vector<double> rows(static_cast<std::size_t>(program.world_size), 0.0);
  for (const Op& op : program.ops) {
    if (op.op_class != OpClass::update) continue;
    const std::vector<int> ranks = program.ranks_of(op);
    for (std::size_t i = 0; i < ranks.size(); ++i) rows[static_cast<std::size_t>(ranks[i])] += op.distinct_rows.at(i);
  }
  return rows;
}

// Those that lift the rank most above the mean by name, the others in one.
std::vector<RankLoads::OfTable> named_tables(const Program& program, std::map<int, std::vector<double>> all,
                                             std::size_t rank) {
  std::vector<std::pair<double, int>> lifts;
  for (const auto& [table, lookups] : all) lifts.emplace_back(mean(lookups) - lookups[rank], table);
  std::ranges::sort(lifts);
  std::vector<RankLoads::OfTable> tables;
  for (std::size_t i = 0; i < lifts.size(); ++i) {
    const int table = lifts[i].second;
    if (i < kNamedTables) {
      tables.push_back({program.tables[static_cast<std::size_t>(table)].name, std::move(all[table])});
      continue;
    }
    if (i == kNamedTables) tables.push_back({"", std::vector<double>(static_cast<std::size_t>(program.world_size))});
    add(tables.back().lookups, all[table]);
  }
  return tables;
}

// Each source asks for the row once, if its batch has it.
double asked_once(const Program& program, const Program::Shard& shard, double share) {
  const double ids = items_of(program, shard);
  return ids > 0 ? lookups_of_set(program, shard) / ids * chance_to_meet(share, ids) : 0;
}

// Where bags follow from their first id, the first ids alone are counted: the others are spread over the table.
std::optional<HotRow> hottest_row(const Program& program, double mean_lookups) {
  std::optional<HotRow> hottest;
  for (const Program::Shard& shard : program.shards) {
    if (!in_rows(shard.strategy) || shard.shards() < 2) continue;
    const Table& table = program.tables[static_cast<std::size_t>(shard.table)];
    const AccessDistribution access = table.distribution();
    const double all = access.sum(shard.row_begin, shard.row_end);
    if (!(all > 0)) continue;
    const double ids = table.bag_ids == BagIds::first_id ? table.features.front().pooling_factor : 1;
    const double share = access.probability(shard.row_begin) / all / ids;
    const double lookups =
        table.index_dedup ? asked_once(program, shard, share) : share * lookups_of_set(program, shard);
    if (hottest && lookups <= hottest->lookups) continue;
    const double least = mean_lookups > 0 ? lookups / mean_lookups : 1;  // nobody looks up anything
    hottest = {table.name, shard.shards(), share, lookups, least};
  }
  return hottest;
}

// Holders of a table that removes duplicates say how many lookups they have, though it be as many for each.
bool has_even_lookups(const Program::Shard& shard) {
  return std::ranges::adjacent_find(shard.lookups, std::not_equal_to<>()) == shard.lookups.end();
}

}  // namespace

double RankLoads::times_mean() const {
  const double times = lookups[static_cast<std::size_t>(fullest)] / mean(lookups);
  return std::isfinite(times) ? times : 1;  // nobody looks up anything
}

RankLoads loads_of(const Program& program) {
  std::map<int, std::vector<double>> tables = by_table(program);
  RankLoads loads;
  loads.lookups.assign(static_cast<std::size_t>(program.world_size), 0.0);
  for (const auto& [table, lookups] : tables) add(loads.lookups, lookups);
  loads.distinct_rows = distinct_rows(program);
  loads.fullest = static_cast<int>(std::ranges::max_element(loads.lookups) - loads.lookups.begin());
  loads.tables = named_tables(program, std::move(tables), static_cast<std::size_t>(loads.fullest));
  loads.hottest_row = hottest_row(program, mean(loads.lookups));
  return loads;
}

std::optional<RankLoads> rank_loads(const Program& program) {
  if (std::ranges::all_of(program.shards, has_even_lookups)) return {};
  return loads_of(program);
}

std::vector<double> ids_received(const Program& program) {
  std::vector<double> ids(static_cast<std::size_t>(program.world_size), 0.0);
  for (const Op& op : program.ops) {
    if (op.role != OpRole::exchange_ids) continue;
    const ByteMatrix matrix = resolve_matrix(program, op.matrix);
    for (const std::vector<int>& set : program.groups.at(op.group)) {
      const std::vector<std::int64_t> bytes = matrix.all_received(static_cast<int>(set.size()));
      for (std::size_t i = 0; i < set.size(); ++i) {
        ids[static_cast<std::size_t>(set[i])] += static_cast<double>(bytes[i]) / program.id_bytes;
      }
    }
  }
  return ids;
}

}  // namespace shardsim
