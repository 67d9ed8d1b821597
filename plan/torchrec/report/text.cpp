#include "plan/torchrec/report/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <map>

namespace shardsim::torchrec {
namespace {

std::vector<std::size_t> widths_of(const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  return widths;
}

std::string line_of(const std::vector<std::string>& row, const std::vector<std::size_t>& widths) {
  std::string line;
  for (std::size_t i = 0; i < row.size(); ++i) {
    line += i == 0 ? fmt::format("{:<{}}", row[i], widths[i]) : fmt::format("  {:>{}}", row[i], widths[i]);
  }
  return line.erase(line.find_last_not_of(' ') + 1) + "\n";
}

}  // namespace

double rounded(double value, int decimals) {
  return std::strtod(fmt::format("{:.{}f}", value, decimals).c_str(), nullptr);
}

std::string decimals_text(double value, int decimals) {
  std::string text = fmt::format("{:.{}f}", value, decimals);
  while (text.ends_with('0') && !text.ends_with(".0")) text.pop_back();
  return text == "-0.0" ? "0.0" : text;
}

double percent(double share) {
  return rounded(share * 100, 0);
}

std::string percent_text(double share) {
  return fmt::format("{:.0f}%", share * 100);
}

double significant(double value, int digits) {
  return std::strtod(fmt::format("{:.{}g}", value, digits).c_str(), nullptr);
}

double part(double ms) {
  return ms >= 1 ? rounded(ms, 0) : significant(ms, 1);
}

std::string rank_text(std::vector<int> ranks) {
  std::sort(ranks.begin(), ranks.end());
  bool consecutive = ranks.size() > 1;
  for (std::size_t i = 1; i < ranks.size(); ++i) consecutive = consecutive && ranks[i] == ranks[i - 1] + 1;
  if (consecutive) return fmt::format("{}-{}", ranks.front(), ranks.back());
  return fmt::format("{}", fmt::join(ranks, ","));
}

std::string table_text(const std::vector<std::vector<std::string>>& rows) {
  if (rows.empty()) return "";
  const std::vector<std::size_t> widths = widths_of(rows);
  std::vector<std::string> dashes;
  for (const std::size_t width : widths) dashes.emplace_back(width, '-');
  std::string text = line_of(rows.front(), widths) + line_of(dashes, widths);
  for (std::size_t i = 1; i < rows.size(); ++i) text += line_of(rows[i], widths);
  return text;
}

std::string ranks_text(std::vector<std::string> header, const std::vector<std::vector<std::string>>& cells,
                       std::size_t width) {
  std::vector<std::vector<std::string>> rows = {std::move(header)};
  std::map<std::vector<std::string>, std::size_t> row_of;
  std::vector<std::vector<int>> ranks(1);  // by row
  for (std::size_t rank = 0; rank < cells.size(); ++rank) {
    const auto [row, added] = row_of.try_emplace(cells[rank], rows.size());
    if (added) {
      rows.push_back({""});
      rows.back().insert(rows.back().end(), cells[rank].begin(), cells[rank].end());
      ranks.emplace_back();
    }
    ranks[row->second].push_back(static_cast<int>(rank));
  }
  for (std::size_t row = 1; row < rows.size(); ++row) rows[row].front() = short_ranks(ranks[row], width);
  return table_text(rows);
}

std::string short_ranks(std::vector<int> ranks, std::size_t width) {
  std::sort(ranks.begin(), ranks.end());
  ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
  std::string text;
  for (std::size_t i = 0; i < ranks.size();) {
    std::size_t last = i;
    while (last + 1 < ranks.size() && ranks[last + 1] == ranks[last] + 1) ++last;
    const std::string range = last == i ? fmt::format("{}", ranks[i]) : fmt::format("{}-{}", ranks[i], ranks[last]);
    if (text.size() + range.size() + 4 > width && !text.empty()) return text + ",...";
    text += (text.empty() ? "" : ",") + range;
    i = last + 1;
  }
  return text;
}

}  // namespace shardsim::torchrec
