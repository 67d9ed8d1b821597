#include "study/import/text_table.h"

#include <algorithm>
#include <map>

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

// A line of a table in Markdown: "| a | b |".
bool is_barred(std::string_view line) {
  const std::string_view text = trimmed(line, " \t\r");
  return text.size() > 2 && text.front() == '|' && text.back() == '|';
}

// TorchRec's word for a column that people call by another one.
std::string by_hand(const std::string& column) {
  if (column == "table" || column == "table name") return "param";
  if (column == "sharding") return "sharding type";
  return column == "kernel" ? "compute kernel" : column;
}

std::vector<std::string> cells_of(std::string_view line) {
  line = unframed(line);
  std::vector<std::string> cells;
  const bool barred = is_barred(line);
  if (barred) {
    line = trimmed(line, " \t\r");
    line.remove_prefix(1);
    line.remove_suffix(1);
  }
  if (barred || line.find(" | ") != line.npos) {
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
    return cell.size() > 1 && cell.find_first_not_of("-+:") == std::string::npos;
  });
}

std::string_view trimmed_end(std::string_view text) {
  return text.substr(0, text.find_last_not_of(" \t") + 1);
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

// Where a prefix of lines ends in this one; npos: it has another one. With `any_numbers` each of its numbers may be
// another one, as in a time.
std::size_t prefix_end(std::string_view line, std::string_view prefix, bool any_numbers) {
  std::size_t at = 0;
  for (std::size_t i = 0; i < prefix.size(); ++i) {
    if (at == line.size()) return prefix.npos;
    if (any_numbers && is_digit(prefix[i]) && is_digit(line[at])) {
      while (i + 1 < prefix.size() && is_digit(prefix[i + 1])) ++i;
      while (at < line.size() && is_digit(line[at])) ++at;
    } else if (line[at++] != prefix[i]) {
      return prefix.npos;
    }
  }
  return at;
}

std::vector<PrintedLine> lines_after(const std::vector<PrintedLine>& lines, std::string_view prefix, bool any_numbers) {
  std::vector<PrintedLine> found;
  for (const PrintedLine& line : lines)
    if (const std::size_t end = prefix_end(line.text, prefix, any_numbers); end != prefix.npos)
      found.push_back({line.text.substr(end), line.number});
  return found;
}

}  // namespace

std::string without_blanks(std::string_view text) {
  return std::string(trimmed(text, " \t\r"));
}

std::vector<PrintedLine> printed_lines(std::string_view text) {
  std::vector<PrintedLine> lines;
  for (std::string& line : split(without_byte_order_mark(text), '\n'))
    lines.push_back({std::move(line), static_cast<int>(lines.size()) + 1});
  return lines;
}

std::vector<PrintedLine> lines_of_one_process(std::vector<PrintedLine> lines, const std::vector<std::string>& words) {
  const auto is_head = [&](const PrintedLine& line) {
    return std::ranges::all_of(words, [&](const std::string& word) { return line.text.find(word) != line.text.npos; });
  };
  const auto head = std::ranges::find_if(lines, is_head);
  if (head == lines.end() || is_barred(head->text)) return lines;
  const std::string_view before = std::string_view(head->text).substr(0, head->text.find(words.front()));
  const std::string prefix(trimmed_end(before));  // its blanks may be those of the table
  if (prefix.empty()) return lines;
  std::map<std::string, bool> heads;  // of each such prefix with other numbers: true where it begins a head, too
  for (const PrintedLine& line : lines)
    if (const std::size_t end = prefix_end(line.text, prefix, true); end != prefix.npos)
      if (bool& begins = heads[line.text.substr(0, end)]; is_head(line)) begins = true;
  const bool by_process = std::ranges::all_of(heads, [](const auto& each) { return each.second; });
  return lines_after(lines, prefix, !by_process);
}

bool first_character_is_dict(std::string_view text) {
  return first_character(text) == '{';
}

Tree TextRow::cell(std::string_view column) const {
  const auto found = std::ranges::find(columns_, column);
  return text_tree(found == columns_.end() ? "" : cells_[static_cast<std::size_t>(found - columns_.begin())], place_);
}

TextTable::TextTable(const std::vector<PrintedLine>& lines, std::size_t head, const std::string& source)
    : lines_(lines), head_(head), source_(source) {
  if (head + 1 >= lines.size() || !is_rule(cells_of(lines[head + 1].text))) return;
  for (const std::string& cell : cells_of(lines[head].text)) {
    std::string column = imported_word(cell);
    std::ranges::replace(column, '_', ' ');
    if (is_barred(lines[head].text)) column = by_hand(column);
    columns_.push_back(std::move(column));
  }
}

bool TextTable::has(const std::vector<std::string>& columns) const {
  return std::ranges::all_of(
      columns, [&](const std::string& column) { return std::ranges::find(columns_, column) != columns_.end(); });
}

std::vector<TextRow> TextTable::rows() const {
  std::vector<TextRow> rows;
  for (std::size_t i = head_ + 2; i < lines_.size(); ++i) {
    std::vector<std::string> cells = cells_of(lines_[i].text);
    if (cells.size() != columns_.size()) break;
    rows.emplace_back(columns_, std::move(cells), Place{source_, lines_[i].number});
  }
  return rows;
}

int TextTable::torn_row(std::size_t rows) const {
  const std::size_t behind = head_ + 2 + rows;
  if (behind >= lines_.size() || lines_[behind].text.find('#') == std::string::npos) return 0;
  const std::size_t cells = cells_of(lines_[behind].text).size();
  return cells > 1 && cells < columns_.size() ? lines_[behind].number : 0;
}

}  // namespace shardsim
