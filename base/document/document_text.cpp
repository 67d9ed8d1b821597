#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <set>

#include "base/document/document.h"
#include "base/text.h"

namespace shardsim {

namespace {

constexpr int kIndent = 2;
constexpr int kGap = 2;
constexpr int kLeastTextWidth = 8;
constexpr int kLeastBesideName = 16;  // "rank 127 compute"

// `code` is one of the sixteen basic colours: every terminal has them, and users choose them to suit their background.
std::string dressed(const std::string& text, const char* code, bool colour) {
  return colour ? fmt::format("\033[{}m{}\033[0m", code, text) : text;
}

std::string bold(const std::string& text, bool colour) {
  return dressed(text, "1", colour);
}

std::string faint(const std::string& text, bool colour) {
  return dressed(text, "2", colour);
}

constexpr const char* kGroupColour = "36";    // cyan: headings within a table
constexpr const char* kNoticeColour = "33";   // yellow: warnings
constexpr const char* kCommandColour = "32";  // green: what one may type next

// Each line by itself: a terminal that scrolls forgets colours of the line before.
std::string each_line(const std::string& lines, const char* code, bool colour) {
  std::string result;
  for (std::size_t begin = 0; begin < lines.size();) {
    const std::size_t end = std::min(lines.find('\n', begin), lines.size());
    result += dressed(lines.substr(begin, end - begin), code, colour) + "\n";
    begin = end + 1;
  }
  return result;
}

// Letters of ASCII alone: headings are ours.
std::string in_capitals(std::string text) {
  for (char& c : text) {
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  }
  return text;
}

std::vector<int> natural_widths(const Sheet& sheet) {
  std::vector<int> widths;
  for (std::size_t c = 0; c < sheet.columns.size(); ++c) {
    int widest = display_width(sheet.columns[c].header);
    for (const Sheet::Row& row : sheet.rows) {
      if (!row.is_heading(sheet)) widest = std::max(widest, display_width(row.cells[c]));
    }
    widths.push_back(widest);
  }
  return widths;
}

int total_width(const std::vector<int>& widths) {
  return kIndent + std::accumulate(widths.begin(), widths.end(), 0) + kGap * (static_cast<int>(widths.size()) - 1);
}

// Narrows the widest text column that `gives` until the line fits or none is wider than `least`.
template <class Test>
void narrow(const Sheet& sheet, int width, int least, Test gives, std::vector<int>& widths) {
  while (total_width(widths) > width) {
    int widest = -1;
    for (std::size_t c = 0; c < widths.size(); ++c) {
      const bool can_give = !sheet.columns[c].number && gives(sheet.columns[c]) && widths[c] > least;
      if (can_give && (widest < 0 || widths[c] > widths[widest])) widest = static_cast<int>(c);
    }
    if (widest < 0) return;
    --widths[widest];
  }
}

// The least that the columns take. `names_whole`: names stand in their line; texts of a table without names as far as
// they tell one from another.
int least_width(const Sheet& sheet, bool names_whole) {
  std::vector<int> widths = natural_widths(sheet);
  const bool named = !sheet.columns.empty() && sheet.columns.front().name;
  for (std::size_t c = 0; c < widths.size(); ++c) {
    const Sheet::Column& column = sheet.columns[c];
    if (column.number || (column.name && names_whole)) continue;
    const bool wide = named ? !column.name : names_whole;
    widths[c] = std::min(widths[c], wide ? kLeastBesideName : kLeastTextWidth);
  }
  return total_width(widths);
}

void take_out(Sheet& sheet, std::ptrdiff_t column) {
  for (Sheet::Row& row : sheet.rows)
    if (!row.is_heading(sheet)) row.cells.erase(row.cells.begin() + column);
  sheet.columns.erase(sheet.columns.begin() + column);
}

// A number of which a part is cut off is another number: so the last columns go until the line has room for the others.
Sheet without_last(Sheet sheet, int width, std::vector<std::string>& left_out) {
  constexpr std::size_t kLeastColumns = 2;
  const bool named = !sheet.columns.empty() && sheet.columns.front().name;
  while (sheet.columns.size() > kLeastColumns && least_width(sheet, !named) > width) {
    left_out.push_back(sheet.columns.back().header);
    take_out(sheet, static_cast<std::ptrdiff_t>(sheet.columns.size()) - 1);
  }
  return sheet;
}

// Without as many minor columns as the line has no room for, whose headers go to `left_out`; as few as possible where
// names cannot stand in their line anyway.
Sheet without_minor(const Sheet& whole, int width, std::vector<std::string>& left_out) {
  for (const bool names_whole : {true, false}) {
    Sheet sheet = whole;
    left_out.clear();
    while (least_width(sheet, names_whole) > width) {
      const auto last = std::ranges::find_if(sheet.columns.rbegin(), sheet.columns.rend(), &Sheet::Column::minor);
      if (last == sheet.columns.rend()) break;
      left_out.insert(left_out.begin(), last->header);
      take_out(sheet, sheet.columns.rend() - last - 1);
    }
    if (!names_whole || least_width(sheet, names_whole) <= width)
      return without_last(std::move(sheet), width, left_out);
  }
  return whole;
}

// Narrows plain text columns first, then names (a name can take a line of its own), then every column.
void fit(const Sheet& sheet, int width, std::vector<int>& widths) {
  const auto is_name = [](const Sheet::Column& column) { return column.name; };
  if (std::ranges::any_of(sheet.columns, is_name)) {
    narrow(sheet, width, kLeastBesideName, std::not_fn(is_name), widths);
    narrow(sheet, width, kLeastTextWidth, is_name, widths);
  }
  narrow(
      sheet, width, kLeastTextWidth, [](const Sheet::Column&) { return true; }, widths);
}

std::string padded(const std::string& text, int width, bool right) {
  const std::string shown = clipped(text, width);
  const std::string blanks(std::max(0, width - display_width(shown)), ' ');
  return right ? blanks + shown : shown + blanks;
}

std::string line_of(const Sheet& sheet, const std::vector<int>& widths, const std::vector<std::string>& cells,
                    int width) {
  std::string line(kIndent, ' ');
  for (std::size_t c = 0; c < cells.size(); ++c) {
    if (c > 0) line += std::string(kGap, ' ');
    line += padded(cells[c], widths[c], sheet.columns[c].number);
  }
  line.erase(line.find_last_not_of(' ') + 1);
  return clipped(line, width);
}

// The first `head` characters and as many of the last as `width` columns hold.
std::string without_middle(const std::string& text, int width, int head) {
  if (display_width(text) <= width) return text;
  std::vector<std::size_t> starts;  // of the characters
  for (std::size_t at = 0; at < text.size(); ++at)
    if (!continues_character(text[at])) starts.push_back(at);
  starts.push_back(text.size());
  const auto tail = static_cast<std::size_t>(width - 1 - head);
  return text.substr(0, starts[static_cast<std::size_t>(head)]) + "~" + text.substr(starts[starts.size() - 1 - tail]);
}

using ShownTexts = std::map<std::string, std::string>;  // what is shown of each text

bool all_differ(const ShownTexts& texts) {
  std::set<std::string> shown;
  for (const auto& text : texts) shown.insert(text.second);
  return shown.size() == texts.size();
}

// Returns the length in bytes of the prefix that all texts wider than `width` share.
std::size_t common_start(const ShownTexts& texts, int width) {
  const std::string* first = nullptr;
  std::size_t common = 0;
  for (const auto& [text, shown] : texts) {
    if (display_width(text) <= width) continue;
    if (first == nullptr) common = text.size();
    first = first == nullptr ? &text : first;
    const auto differ = std::mismatch(first->begin(), first->end(), text.begin(), text.end());
    common = std::min(common, static_cast<std::size_t>(differ.first - first->begin()));
  }
  while (first != nullptr && common > 0 && continues_character((*first)[common])) --common;
  return common;
}

// Cuts what is too long so that different texts stay different: their middles go, or another part of them, or what all
// of them begin with; at last they are numbered.
void shorten_apart(ShownTexts& texts, int width) {
  const auto too_long = [&](const auto& text) { return display_width(text.first) > width; };
  if (std::ranges::none_of(texts, too_long)) return;
  for (const std::size_t dropped : {std::size_t{0}, common_start(texts, width)}) {
    const std::string lead = dropped == 0 ? "" : "~";
    const int room = width - static_cast<int>(lead.size());
    for (int step = 0; step + 1 < room; ++step) {
      const int head = (room - 1) / 2 + (step % 2 == 0 ? step / 2 : -(step + 1) / 2);
      if (head < 0 || head > room - 1) continue;
      for (auto& [text, shown] : texts)
        if (display_width(text) > width) shown = lead + without_middle(text.substr(dropped), room, head);
      if (all_differ(texts)) return;
    }
  }
  int number = 0;
  for (auto& [text, shown] : texts) {
    const std::string end = "~" + std::to_string(++number);
    if (display_width(text) > width)
      shown = without_middle(text, width - static_cast<int>(end.size()) + 1, width - static_cast<int>(end.size())) +
              end.substr(1);
  }
}

// With texts and headings that fit their columns and the line.
Sheet shortened(Sheet sheet, const std::vector<int>& widths, int width) {
  const auto for_all = [&](std::size_t column, bool headings, int limit) {
    ShownTexts texts;
    const auto concerned = [&](const Sheet::Row& row) { return row.is_heading(sheet) == headings; };
    for (Sheet::Row& row : sheet.rows) {
      if (!concerned(row)) continue;
      row.cells[column] = printable(row.cells[column]);
      texts[row.cells[column]] = row.cells[column];
    }
    shorten_apart(texts, limit);
    for (Sheet::Row& row : sheet.rows)
      if (concerned(row)) row.cells[column] = texts[row.cells[column]];
  };
  for_all(0, true, width);
  for (std::size_t c = 0; c < widths.size(); ++c)
    if (!sheet.columns[c].number) for_all(c, false, sheet.columns[c].name ? width - kIndent : widths[c]);
  return sheet;
}

// "In full: two ~abel is two tiers of a long label; ...": each text that was shortened, once.
std::string spelt_out(const Sheet& whole, const Sheet& shown, const std::vector<int>& widths, int width) {
  std::vector<std::string> parts;
  for (std::size_t c = 0; c < widths.size(); ++c) {
    const std::string cell = clipped(whole.columns[c].header, widths[c]);
    if (cell != printable(whole.columns[c].header)) parts.push_back(cell + " is " + printable(whole.columns[c].header));
  }
  std::set<std::string> known;
  for (std::size_t row = 0; row < whole.rows.size(); ++row) {
    for (std::size_t c = 0; c < whole.rows[row].cells.size(); ++c) {
      const std::string text = printable(whole.rows[row].cells[c]);
      const std::string& cell = shown.rows[row].cells[c];
      if (whole.columns[c].number || cell == text || !known.insert(cell + '\n' + text).second) continue;
      parts.push_back(cell + " is " + text);
    }
  }
  return parts.empty() ? "" : wrapped("In full: " + join(parts, "; ") + ".", width, "");
}

// A row; a name that its column has no room for leads it on a line of its own.
std::string row_text(const Sheet& sheet, const std::vector<int>& widths, std::vector<std::string> cells, int width) {
  if (!sheet.columns.front().name || display_width(cells.front()) <= widths.front())
    return line_of(sheet, widths, cells, width);
  const std::string name = std::string(kIndent, ' ') + cells.front();
  cells.front().clear();
  return name + "\n" + line_of(sheet, widths, cells, width);
}

}  // namespace

std::string sheet_text(const Sheet& all, int width, bool colour) {
  std::vector<std::string> left_out;
  const Sheet whole = without_minor(all, width, left_out);
  std::vector<int> widths = natural_widths(whole);
  fit(whole, width, widths);
  const Sheet sheet = shortened(whole, widths, width);
  std::vector<std::string> headers;
  for (const Sheet::Column& column : sheet.columns) headers.push_back(column.header);
  std::string result = bold(line_of(sheet, widths, headers, width), colour) + "\n";
  for (const Sheet::Row& row : sheet.rows) {
    if (row.is_heading(sheet)) {
      result += dressed(clipped(row.cells[0], width), kGroupColour, colour) + "\n";
    } else {
      result += faint(row_text(sheet, widths, row.cells, width), colour && row.quiet) + "\n";
    }
  }
  if (whole.spelt_out) result += spelt_out(whole, sheet, widths, width);
  std::ranges::sort(left_out, {}, [&](const std::string& header) {
    return std::ranges::find(all.columns, header, &Sheet::Column::header) - all.columns.begin();
  });
  if (!left_out.empty()) result += wrapped("A wider terminal also shows: " + join(left_out) + ".", width, "");
  return result;
}

namespace {

constexpr int kLeastWidth = 40;
constexpr int kWidthOfProse = 100;    // where the width is not known
constexpr int kWidthOfTables = 1000;  // which is then what they need

// Writes a document for a terminal, block after block.
class TerminalWriter {
 public:
  TerminalWriter(int width, bool colour)
      : width_(width == kNoTerminal ? kWidthOfProse : std::max(width, kLeastWidth)),
        table_width_(width == kNoTerminal ? kWidthOfTables : width_),
        colour_(colour) {}

  void title(const std::string& text) {
    if (!text.empty()) text_ += each_line(wrapped(text, width_, ""), "1", colour_);
  }
  void write(const std::vector<Section::Block>& blocks) {
    for (const Section::Block& block : blocks) std::visit(*this, block);
  }
  std::string take() { return std::move(text_); }

  void operator()(const Paragraph& paragraph) {
    const std::string indent(static_cast<std::size_t>(paragraph.indent), ' ');
    const std::string lines =
        paragraph.unbroken ? indent + paragraph.text + "\n" : wrapped(paragraph.text, width_, indent);
    const bool notice = paragraph.role == Paragraph::Role::notice;
    text_ += notice || paragraph.unbroken ? each_line(lines, notice ? kNoticeColour : kCommandColour, colour_) : lines;
  }
  void operator()(const NoteList& list) {
    std::size_t number = 0;
    for (const NoteList::Note& note : list.notes) {
      const std::string lead = list.numbered ? fmt::format("{}. ", ++number) : list.lead;
      text_ += wrapped(lead + (note.about.empty() ? "" : note.about + ": ") + note.text, width_, "");
    }
  }
  void operator()(const Sheet& sheet) { text_ += sheet_text(sheet, table_width_, colour_); }
  void operator()(const Chart&) {}
  void operator()(const Section& section) {
    if (!text_.empty()) text_ += "\n";
    if (section.style != Section::Heading::page_only && !section.heading.empty()) {
      const bool capitals = section.style == Section::Heading::capitals;
      title((capitals ? in_capitals(section.heading) : section.heading) +
            (section.remark.empty() ? "" : ", " + section.remark));
    }
    write(section.blocks);
  }

 private:
  int width_, table_width_;
  bool colour_;
  std::string text_;
};

}  // namespace

void Document::add(Section section) {
  if (!section.blocks.empty()) blocks.emplace_back(std::move(section));
}

Section table_section(std::string heading, std::string legend, Sheet sheet) {
  Section section{std::move(heading), {}};
  if (sheet.rows.empty()) return section;
  section.blocks.emplace_back(std::move(sheet));
  if (!legend.empty()) section.blocks.emplace_back(Paragraph{std::move(legend), Paragraph::Role::caption});
  return section;
}

std::string document_text(const Document& document, int width, bool colour) {
  TerminalWriter writer(width, colour);
  writer.title(document.title);
  writer.write(document.blocks);
  return writer.take();
}

}  // namespace shardsim
