#include "topology/import/smi_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <sstream>

#include "base/byte_order_mark.h"
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
Header parse_header(const std::string& line) {
  Header header;
  const std::vector<std::string> all = words(line);
  const auto titles = std::find_if(
      all.begin(), all.end(), [](const std::string& word) { return word == "CPU" || word == "NUMA" || word == "GPU"; });
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

std::optional<std::size_t> find_header(const std::vector<std::string>& lines) {
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const std::vector<std::string> first = words(lines[i]);
    const bool names_devices = !first.empty() && is_gpu_name(first[0]);
    if (names_devices && (first.size() == 1 || first[1] != "X")) return i;
  }
  return std::nullopt;
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
  text = without_byte_order_mark(text);
  std::string plain;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] == '\x1b' && at + 1 < text.size() && text[at + 1] == '[') {
      at = text.find_first_of("ABCDEFGHJKSTfhlmnsu", at + 2);
      if (at == std::string_view::npos) break;
    } else if (text[at] != '\r') {
      plain += text[at];
    }
  }
  return split(plain, '\n');
}

SmiTable parse_smi_table(std::string_view text, const std::string& source) {
  const std::vector<std::string> lines = plain_lines(text);
  const auto at = find_header(lines);
  if (!at) throw input_error({source}, "no matrix of GPUs in the text", "Paste the output of nvidia-smi topo -m");
  const Header header = parse_header(lines[*at]);
  SmiTable table;
  table.gpus = static_cast<std::size_t>(std::count_if(header.devices.begin(), header.devices.end(), is_gpu_name));
  check_header(header, table.gpus, {source, static_cast<int>(*at) + 1});
  std::map<std::size_t, SmiTable::Row> rows;
  for (std::size_t i = *at + 1; i < lines.size(); ++i) {
    const std::vector<std::string> line = words(lines[i]);
    if (line.empty() || line.front() == "Legend:") break;
    const Place place{source, static_cast<int>(i) + 1};
    const std::size_t device = index_of(header.devices, line.front(), place);
    if (rows.emplace(device, parse_row(line, header, place)).second) continue;
    throw input_error(place, fmt::format("a second row {}", line.front()), "Paste the matrix as it was printed");
  }
  for (std::size_t device = 0; device < header.devices.size(); ++device) {
    if (!rows.contains(device)) {
      throw input_error({source, static_cast<int>(*at) + 1}, fmt::format("no row {}", header.devices[device]),
                        "Paste the matrix whole");
    }
    table.rows.push_back(std::move(rows.at(device)));
  }
  return table;
}

}  // namespace shardsim
