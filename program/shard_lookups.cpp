#include "program/shard_lookups.h"

#include <algorithm>
#include <cmath>

namespace shardsim {

double items_of(const Program& program, const Program::Shard& shard) {
  const Table& table = program.tables[static_cast<std::size_t>(shard.table)];
  const double per_sample = table.distribution().sum(shard.row_begin, shard.row_end);
  return std::floor(batch_of(table, program.batch_per_rank) * per_sample + 0.5);
}

std::size_t sources_of(const Program& program, const Program::Shard& shard) {
  return static_cast<std::size_t>(program.world_size) / shard.holders.size();
}

double lookups_of_set(const Program& program, const Program::Shard& shard) {
  return items_of(program, shard) * static_cast<double>(sources_of(program, shard));
}

std::vector<double> lookups_of(const Program& program, const Program::Shard& shard) {
  if (!shard.lookups.empty()) return {shard.lookups.begin(), shard.lookups.end()};
  const std::size_t holders = shard.holders.front().size();
  if (shard.strategy == Strategy::data_parallel) return std::vector<double>(holders, items_of(program, shard));
  const auto owners = std::min<double>(shard.shards(), static_cast<double>(shard.rows()));
  std::vector<double> lookups(holders, lookups_of_set(program, shard) / owners);
  std::fill(lookups.begin() + static_cast<std::ptrdiff_t>(owners), lookups.end(), 0.0);
  return lookups;
}

}  // namespace shardsim
