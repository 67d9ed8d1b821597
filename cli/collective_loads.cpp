#include "cli/collective_loads.h"

#include <algorithm>
#include <map>

#include "base/csv.h"
#include "base/files.h"
#include "base/text.h"
#include "cli/collective_sizes.h"
#include "models/collective/rank_bytes.h"

namespace shardsim {
namespace {

constexpr std::size_t kMostFile = std::size_t{64} << 20;

struct Sum {
  std::string_view name;
  std::int64_t RankBytes::*field;
};

constexpr Sum kSums[] = {{"sent_in_node", &RankBytes::sent_in_node},
                         {"received_in_node", &RankBytes::received_in_node},
                         {"sent_off_node", &RankBytes::sent_off_node},
                         {"received_off_node", &RankBytes::received_off_node}};

// Cells of a line by what they mean.
struct Columns {
  std::size_t rank = 0;
  std::vector<std::size_t> sums;   // as kSums
  std::vector<std::size_t> rails;  // rail_0, rail_1, ...
};

std::size_t column_of(const CsvTable& table, std::string_view name) {
  const auto column = table.column(name);
  if (column) return *column;
  throw input_error(table.place, "column " + std::string(name) + " is missing",
                    "Write rank,sent_in_node,received_in_node,sent_off_node,received_off_node, and rail_0,rail_1,... "
                    "where they are known");
}

Columns columns_of(const CsvTable& table) {
  Columns columns;
  columns.rank = column_of(table, "rank");
  for (const Sum& sum : kSums) columns.sums.push_back(column_of(table, sum.name));
  while (const auto rail = table.column("rail_" + std::to_string(columns.rails.size()))) columns.rails.push_back(*rail);
  const std::size_t known = 1 + columns.sums.size() + columns.rails.size();
  if (table.header.size() == known) return columns;
  throw input_error(table.place, "there are columns that mean nothing here",
                    "Leave out all but rank, the four sums and rail_0, rail_1, ...");
}

RankBytes bytes_of(const CsvTable::Row& row, const Columns& columns) {
  RankBytes bytes;
  for (std::size_t i = 0; i < columns.sums.size(); ++i)
    bytes.*kSums[i].field = cell_bytes(row.cells[columns.sums[i]], row.place);
  for (std::size_t rail : columns.rails) bytes.sent_to_rail.push_back(cell_bytes(row.cells[rail], row.place));
  return bytes;
}

}  // namespace

std::vector<RankBytes> read_rank_bytes(const std::string& file, const std::vector<int>& ranks, const Cluster& cluster) {
  const CsvTable table = parse_csv(read_file(file, kMostFile), file);
  const Columns columns = columns_of(table);
  std::map<std::int64_t, std::size_t> positions;
  for (std::size_t i = 0; i < ranks.size(); ++i) positions[ranks[i]] = i;
  std::vector<RankBytes> bytes(ranks.size());
  RankBytesPlaces places;
  places.whole.source = file;
  places.each.resize(ranks.size());
  for (const CsvTable::Row& row : table.rows) {
    const auto position = positions.find(parse_count(row.cells[columns.rank], row.place));
    if (position == positions.end())
      throw input_error(row.place, "rank " + row.cells[columns.rank] + " is not of the group, or there twice",
                        "Write one line for each of the " + std::to_string(ranks.size()) + " ranks of the group");
    bytes[position->second] = bytes_of(row, columns);
    places.each[position->second] = row.place;
    positions.erase(position);
  }
  if (!positions.empty())
    throw input_error({file}, "rank " + std::to_string(positions.begin()->first) + " is missing",
                      "Write one line for each of the " + std::to_string(ranks.size()) + " ranks of the group");
  check_rank_bytes(ranks, bytes, cluster, places);
  return bytes;
}

}  // namespace shardsim
