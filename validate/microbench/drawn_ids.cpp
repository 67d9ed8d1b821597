#include "validate/microbench/drawn_ids.h"

#include <algorithm>
#include <cmath>
#include <span>

#include "models/access/row_hash.h"

namespace shardsim {
namespace {

// The ids of one table, and where its bags begin in them.
void draw_table(const DrawnIds::Table& table, std::int64_t bags, const PositionDraw& positions, std::uint64_t salt,
                BenchInput& input) {
  for (std::int64_t bag = 1; bag <= bags; ++bag)
    input.offsets.push_back(table.first +
                            static_cast<std::int64_t>(std::floor(static_cast<double>(bag) * table.average_length)));
  std::vector<std::uint64_t> ids(static_cast<std::size_t>(input.offsets.back() - table.first));
  Rng rng(mix(table.name, salt));
  for (std::uint64_t& id : ids) id = positions.draw(rng);
  permute_all(ids, table.rows, table.key);
  input.indices.insert(input.indices.end(), ids.begin(), ids.end());
}

}  // namespace

void DrawnIds::add(Table table) {
  table.first = count;
  count += static_cast<std::int64_t>(std::floor(static_cast<double>(bags) * table.average_length));
  tables.push_back(table);
}

BenchInput draw(const DrawnIds& ids, const std::vector<PositionDraw>& laws, std::uint64_t salt) {
  BenchInput input;
  input.offsets.push_back(0);
  for (const DrawnIds::Table& table : ids.tables)
    draw_table(table, ids.bags, laws.at(static_cast<std::size_t>(table.law)), salt, input);
  return input;
}

void DrawnNeed::include(const BenchPoint& point, const DrawnIds& ids) {
  type = point.type;
  table_bytes = std::max(table_bytes, point.table_bytes());
  state_bytes = std::max(state_bytes, point.state_bytes());
  output_bytes = std::max(output_bytes, point.output_bytes());
  gradients = std::max(gradients, point.gradients());
  lookups = std::max(lookups, ids.count);
  offsets = std::max(offsets, ids.offsets());
  tables = std::max(tables, static_cast<int>(point.tables.size()));
  for (const BenchPoint::TableShape& table : point.tables) dim = std::max(dim, table.dim);
}

std::int64_t DrawnNeed::bytes() const {
  constexpr std::int64_t kSorting = 48;  // pairs twice, and what the sort and the sums of popular rows take
  return table_bytes + state_bytes + output_bytes + 4 * gradients + (8 + kSorting) * lookups + 8 * offsets;
}

}  // namespace shardsim
