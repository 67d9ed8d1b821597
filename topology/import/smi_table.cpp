#include "topology/import/smi_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <sstream>

#include "base/text.h"
#include "topology/spec/cluster_spec.h"

namespace shardsim {
namespace {

std::vector<std::string> words(const std::string& line) {
  std::istringstream stream(line);
  return {std::istream_iterator<std::string>(stream), {}};
}

struct Header {
  std::vector<std::string> devices;
  std::vector<std::string> titles;  // of the columns behind the cells, in words
};

// The titles begin at the first word that begins one; they hold blanks.
Header parse_header(const std::vector<std::string>& all) {
  Header header;
  const auto titles = std::find_if(all.begin(), all.end(), [](const std::string& word) {
    return word == "CPU" || word == "NUMA" || word == "GPU" || word == "Node";
  });
  header.devices.assign(all.begin(), titles);
  header.titles.assign(titles, all.end());
  return header;
}

void check_header(const Header& header, std::size_t gpus, const Place& place) {
  if (gpus > kMostGpusPerNode || header.devices.size() - gpus > kMostNicsPerNode) {
    throw input_error(place, fmt::format("{} GPUs and {} NICs in one node", gpus, header.devices.size() - gpus),
                      fmt::format("At most {} and {} are possible", kMostGpusPerNode, kMostNicsPerNode));
  }
  std::vector<std::string> names = header.devices;
  std::sort(names.begin(), names.end());
  const auto twice = std::adjacent_find(names.begin(), names.end());
  if (twice != names.end()) {
    throw input_error(place, excerpt(*twice) + " is twice in the header", "Paste the matrix as it was printed");
  }
  if (std::is_partitioned(header.devices.begin(), header.devices.end(), is_gpu_name)) return;
  throw input_error(place, "a NIC stands before a GPU in the header", "Paste the matrix as it was printed");
}

// Index of the NUMA column among the words behind the cells: each title before it has one word in a row.
std::optional<std::size_t> numa_column(const Header& header) {
  std::size_t column = 0;
  for (std::size_t i = 0; i + 1 < header.titles.size(); ++i) {
    if (header.titles[i] == "NUMA" && header.titles[i + 1] == "Affinity") return column;
    column += header.titles[i + 1] == "Affinity";
  }
  return std::nullopt;
}

SmiTable::Row parse_row(const std::vector<std::string>& line, const Header& header, const Place& place) {
  const std::size_t count = header.devices.size();
  if (line.size() < count + 1) {
    throw input_error(place, fmt::format("row {} has {} cells for {} devices", line.front(), line.size() - 1, count),
                      "Paste the matrix whole");
  }
  SmiTable::Row row{line.front(), place, {line.begin() + 1, line.begin() + 1 + static_cast<std::ptrdiff_t>(count)}, ""};
  const auto numa = numa_column(header);
  if (numa && line.size() > count + 1 + *numa) row.numa = line[count + 1 + *numa];
  if (row.numa == "N/A") row.numa.clear();
  return row;
}

using Words = std::vector<std::string>;

// The words of a line without those of its label.
Words unlabelled(const std::string& line, std::size_t label) {
  Words all = words(line);
  all.erase(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(std::min(label, all.size())));
  return all;
}

struct HeaderLine {
  std::size_t line = 0, label = 0;  // how many words stand before the devices
};

// A label is believed only if the row of the first GPU has one of as many words.
bool is_header(const std::vector<std::string>& lines, std::size_t line, std::size_t label) {
  const Words here = unlabelled(lines[line], label);
  if (here.empty() || !is_gpu_name(here[0]) || (here.size() > 1 && here[1] == "X")) return false;
  if (label == 0) return true;
  const Words next = line + 1 < lines.size() ? unlabelled(lines[line + 1], label) : Words{};
  return next.size() > 1 && next[0] == here[0] && next[1] == "X";
}

std::optional<HeaderLine> find_header(const std::vector<std::string>& lines, std::size_t from) {
  for (std::size_t i = from; i < lines.size(); ++i) {
    if (lines[i].find("GPU") == std::string::npos) continue;
    const Words all = words(lines[i]);
    const auto label = static_cast<std::size_t>(std::ranges::find_if(all, is_gpu_name) - all.begin());
    if (is_header(lines, i, label)) return HeaderLine{i, label};
  }
  return std::nullopt;
}

// The lines of a matrix, header first, each in words.
std::vector<Words> block_at(const std::vector<std::string>& lines, const HeaderLine& header) {
  std::vector<Words> block;
  for (std::size_t i = header.line; i < lines.size(); ++i) {
    Words line = unlabelled(lines[i], header.label);
    const bool is_row = i == header.line || (!line.empty() && line.front() != "Legend:");
    if (!is_row) break;
    block.push_back(std::move(line));
  }
  return block;
}

std::vector<SmiTable::Further> further_matrices(const std::vector<std::string>& lines, const HeaderLine& first,
                                                const std::string& source) {
  const std::vector<Words> read = block_at(lines, first);
  std::vector<SmiTable::Further> further;
  std::size_t further_from = first.line + read.size();
  for (auto at = find_header(lines, further_from); at; at = find_header(lines, further_from)) {
    const std::vector<Words> block = block_at(lines, *at);
    further.push_back({{source, static_cast<int>(at->line) + 1}, block == read});
    further_from = at->line + block.size();
  }
  return further;
}

std::size_t index_of(const std::vector<std::string>& names, const std::string& name, const Place& place) {
  const auto found = std::find(names.begin(), names.end(), name);
  if (found != names.end()) return static_cast<std::size_t>(found - names.begin());
  throw input_error(place, fmt::format("row {} is not in the header", excerpt(name)), "Paste the matrix whole");
}

}  // namespace

bool is_gpu_name(std::string_view name) {
  return name.size() > 3 && name.starts_with("GPU") &&
         name.find_first_not_of("0123456789", 3) == std::string_view::npos;
}

std::vector<std::string> plain_lines(std::string_view text) {
  std::string plain = without_escapes(without_byte_order_mark(text));
  std::erase(plain, '\r');
  return split(plain, '\n');
}

SmiTable parse_smi_table(std::string_view text, const std::string& source) {
  const std::vector<std::string> lines = plain_lines(text);
  const auto at = find_header(lines, 0);
  if (!at) throw input_error({source}, "no matrix of GPUs in the text", "Paste the output of nvidia-smi topo -m");
  const Header header = parse_header(unlabelled(lines[at->line], at->label));
  SmiTable table;
  table.gpus = static_cast<std::size_t>(std::count_if(header.devices.begin(), header.devices.end(), is_gpu_name));
  check_header(header, table.gpus, {source, static_cast<int>(at->line) + 1});
  std::map<std::size_t, SmiTable::Row> rows;
  for (std::size_t i = at->line + 1; i < lines.size(); ++i) {
    const std::vector<std::string> line = unlabelled(lines[i], at->label);
    if (line.empty() || line.front() == "Legend:") break;
    const Place place{source, static_cast<int>(i) + 1};
    const std::size_t device = index_of(header.devices, line.front(), place);
    if (rows.emplace(device, parse_row(line, header, place)).second) continue;
    throw input_error(place, fmt::format("a second row {}", line.front()), "Paste the matrix as it was printed");
  }
  for (std::size_t device = 0; device < header.devices.size(); ++device) {
    if (!rows.contains(device)) {
      throw input_error({source, static_cast<int>(at->line) + 1}, fmt::format("no row {}", header.devices[device]),
                        "Paste the matrix whole");
    }
    table.rows.push_back(std::move(rows.at(device)));
  }
  table.further = further_matrices(lines, *at, source);
  return table;
}

}  // namespace shardsim
