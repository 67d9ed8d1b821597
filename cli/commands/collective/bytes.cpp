#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "base/csv.h"
#include "base/files.h"
#include "base/text.h"
#include "base/units.h"
#include "cli/commands/collective/request.h"
#include "models/collective/rank_bytes.h"

namespace shardsim {
namespace {

constexpr std::size_t kMostSizes = 1000;
constexpr const char* kHow =
    "Write START:END:xFACTOR, START:END:+STEP, or sizes with commas between, e.g. 1KiB:1GiB:x2";

// Sizes of messages are as often in bytes as not, so a bare number is not taken for GiB.
std::int64_t one_size(const std::string& text, const Place& place) {
  if (!text.empty() && text.find_first_not_of("0123456789") == std::string::npos)
    throw input_error(place, excerpt(text) + " has no unit", "Write " + excerpt(text + " B") + ", or KiB, MiB or GiB");
  const std::int64_t bytes = parse_bytes(text, place).count;
  if (bytes == 0) throw input_error(place, "a size of 0 bytes", "Give 1 B or more");
  return bytes;
}

// The next size, 0 beyond what can be counted.
std::int64_t next_size(std::int64_t size, double factor, std::int64_t step) {
  if (factor == 0) return size > std::numeric_limits<std::int64_t>::max() - step ? 0 : size + step;
  const double next = std::floor(static_cast<double>(size) * factor);
  if (next >= 0x1.0p63) return 0;
  return std::max(size + 1, static_cast<std::int64_t>(next));
}

std::vector<std::int64_t> size_range(const std::vector<std::string>& parts, const Place& place) {
  const std::int64_t first = one_size(parts[0], place), last = one_size(parts[1], place);
  if (last < first) throw input_error(place, "the range ends before it starts", kHow);
  const std::string& by = parts[2];
  if (by.size() < 2 || (by[0] != 'x' && by[0] != '+')) throw input_error(place, excerpt(by) + " is no step", kHow);
  const double factor = by[0] == 'x' ? parse_real(by.substr(1), place) : 0;
  const std::int64_t step = by[0] == '+' ? one_size(by.substr(1), place) : 0;
  if (by[0] == 'x' && !(factor > 1))
    throw input_error(place, "a factor of 1 or less never reaches the end of the range", kHow);
  std::vector<std::int64_t> sizes;
  for (std::int64_t size = first; size > 0 && size <= last && sizes.size() <= kMostSizes;
       size = next_size(size, factor, step))
    sizes.push_back(size);
  return sizes;
}

constexpr std::size_t kMostFile = std::size_t{64} << 20;

struct Sum {
  std::string_view name;
  std::int64_t RankBytes::*field;
};

constexpr Sum kSums[] = {{"sent_in_node", &RankBytes::sent_in_node},
                         {"received_in_node", &RankBytes::received_in_node},
                         {"sent_off_node", &RankBytes::sent_off_node},
                         {"received_off_node", &RankBytes::received_off_node}};

std::size_t column_of(const CsvTable& table, std::string_view name) {
  const auto column = table.column(name);
  if (column) return *column;
  throw input_error(table.place, "column " + std::string(name) + " is missing",
                    "Write rank,sent_in_node,received_in_node,sent_off_node,received_off_node, and rail_0,rail_1,... "
                    "where they are known");
}

std::string rail_name(std::size_t rail) {
  return "rail_" + std::to_string(rail);
}

// The number of rails in the table. Errors: a column of the sums is missing, or a column is neither a sum nor a rail.
std::size_t rails_of(const CsvTable& table) {
  column_of(table, "rank");
  for (const Sum& sum : kSums) column_of(table, sum.name);
  std::size_t rails = 0;
  while (table.column(rail_name(rails))) ++rails;
  if (table.header.size() == 1 + std::size(kSums) + rails) return rails;
  throw input_error(table.place, "the file has columns that are not known here",
                    "Leave out all but rank, the four sums and rail_0, rail_1, ...");
}

// A cell of a table: bytes as a plain count or with a unit. Errors as parse_count() and parse_bytes().
std::int64_t cell_bytes(const std::string& text, const Place& place) {
  return text.find_first_of("KMGTBib") == std::string::npos ? parse_count(text, place) : parse_bytes(text, place).count;
}

RankBytes bytes_of(const CsvTable& table, const CsvTable::Row& row, std::size_t rails) {
  const auto bytes_in = [&](std::string_view name) { return cell_bytes(row.cells[column_of(table, name)], row.place); };
  RankBytes bytes;
  for (const Sum& sum : kSums) bytes.*sum.field = bytes_in(sum.name);
  for (std::size_t rail = 0; rail < rails; ++rail) bytes.sent_to_rail.push_back(bytes_in(rail_name(rail)));
  return bytes;
}

}  // namespace

std::vector<std::int64_t> parse_sizes(const std::string& text, const Place& place) {
  const std::vector<std::string> parts = split(text, ':');
  if (parts.size() == 2 || parts.size() > 3) throw input_error(place, excerpt(text) + " is not a range of sizes", kHow);
  std::vector<std::int64_t> sizes;
  if (parts.size() == 3) {
    sizes = size_range(parts, place);
  } else {
    for (const std::string& part : split(text, ',')) sizes.push_back(one_size(part, place));
  }
  if (sizes.size() > kMostSizes) throw input_error(place, "more than 1,000 sizes", "Take a larger step");
  return sizes;
}

std::vector<std::vector<std::int64_t>> read_byte_matrix(const std::string& file, std::size_t ranks) {
  const CsvTable table = parse_csv(read_file(file, kMostFile), file);
  const std::string how = "Write the header source,0,1,... and one line per source for the " + std::to_string(ranks) +
                          " members of the group";
  bool fits = table.header.size() == ranks + 1 && table.header[0] == "source";
  for (std::size_t i = 0; fits && i < ranks; ++i) fits = table.header[i + 1] == std::to_string(i);
  if (!fits) throw input_error(table.place, "the columns must be source and then every rank of the group", how);
  std::vector<std::vector<std::int64_t>> dense;
  for (const CsvTable::Row& row : table.rows) {
    if (row.cells[0] != std::to_string(dense.size()))
      throw input_error(row.place, "source " + excerpt(row.cells[0]) + " out of order", how);
    auto& line = dense.emplace_back();
    for (std::size_t i = 1; i < row.cells.size(); ++i) line.push_back(cell_bytes(row.cells[i], row.place));
  }
  if (dense.size() != ranks) throw input_error({file}, std::to_string(dense.size()) + " sources", how);
  return dense;
}

std::vector<RankBytes> read_rank_bytes(const std::string& file, const std::vector<int>& ranks, const Cluster& cluster) {
  const CsvTable table = parse_csv(read_file(file, kMostFile), file);
  const std::size_t rails = rails_of(table);
  std::map<std::int64_t, std::size_t> positions;
  for (std::size_t i = 0; i < ranks.size(); ++i) positions[ranks[i]] = i;
  std::vector<RankBytes> bytes(ranks.size());
  RankBytesPlaces places;
  places.whole.source = file;
  places.each.resize(ranks.size());
  for (const CsvTable::Row& row : table.rows) {
    const auto position = positions.find(parse_count(row.cells[column_of(table, "rank")], row.place));
    if (position == positions.end())
      throw input_error(row.place,
                        "rank " + row.cells[column_of(table, "rank")] + " is not in the group, or appears twice",
                        "Write one line for each of the " + std::to_string(ranks.size()) + " ranks of the group");
    bytes[position->second] = bytes_of(table, row, rails);
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
