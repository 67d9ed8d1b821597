#include "study/import/text_table.h"

#include <algorithm>

#include "base/byte_order_mark.h"
#include "base/text.h"
#include "study/import/imported_model.h"

namespace shardsim {
namespace {

// Returns what stands between the frame of a line that is printed with one ("# ... #"), which a logger may begin.
std::string_view unframed(std::string_view line) {
  const std::size_t frame = line.find('#');
  if (frame == line.npos) return line;
  line.remove_prefix(frame + 1);
  while (!line.empty() && (line.back() == '\r' || line.back() == ' ')) line.remove_suffix(1);
  if (!line.empty() && line.back() == '#') line.remove_suffix(1);
  return line;
}

std::vector<std::string> cells_of(std::string_view line) {
  line = unframed(line);
  std::vector<std::string> cells;
  if (line.find(" | ") != line.npos) {
    for (const std::string& cell : split(line, '|')) cells.push_back(without_blanks(cell));
    return cells;
  }
  while (!without_blanks(line).empty()) {
    const std::size_t begin = line.find_first_not_of(" \t");
    line.remove_prefix(begin);
    const std::size_t end = std::min({line.find("  "), line.find('\t'), line.size()});
    cells.push_back(without_blanks(line.substr(0, end)));
    line.remove_prefix(end);
  }
  return cells;
}

bool is_rule(const std::vector<std::string>& cells) {
  return !cells.empty() && std::ranges::all_of(cells, [](const std::string& cell) {
    return cell.size() > 1 && cell.find_first_not_of("-+") == std::string::npos;
  });
}

}  // namespace

std::string without_blanks(std::string_view text) {
  return std::string(trimmed(text, " \t\r"));
}

std::vector<std::string> printed_lines(std::string_view text) {
  return split(without_byte_order_mark(text), '\n');
}

bool first_character_is_dict(std::string_view text) {
  return first_character(text) == '{';
}

Tree TextRow::cell(std::string_view column) const {
  const auto found = std::ranges::find(columns_, column);
  return text_tree(found == columns_.end() ? "" : cells_[static_cast<std::size_t>(found - columns_.begin())], place_);
}

TextTable::TextTable(const std::vector<std::string>& lines, std::size_t head, const std::string& source)
    : lines_(lines), head_(head), source_(source) {
  if (head + 1 >= lines.size() || !is_rule(cells_of(lines[head + 1]))) return;
  for (const std::string& cell : cells_of(lines[head])) {
    std::string column = imported_word(cell);
    std::ranges::replace(column, '_', ' ');
    columns_.push_back(column);
  }
}

bool TextTable::has(const std::vector<std::string>& columns) const {
  return std::ranges::all_of(
      columns, [&](const std::string& column) { return std::ranges::find(columns_, column) != columns_.end(); });
}

std::vector<TextRow> TextTable::rows() const {
  std::vector<TextRow> rows;
  for (std::size_t i = head_ + 2; i < lines_.size(); ++i) {
    std::vector<std::string> cells = cells_of(lines_[i]);
    if (cells.size() != columns_.size()) break;
    rows.emplace_back(columns_, std::move(cells), Place{source_, static_cast<int>(i) + 1});
  }
  return rows;
}

}  // namespace shardsim
