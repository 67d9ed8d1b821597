#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "base/document/document.h"
#include "base/text.h"

namespace shardsim {

namespace {

constexpr int kIndent = 2;
constexpr int kGap = 2;
constexpr int kLeastTextWidth = 8;

std::string bold(const std::string& text, bool colour) {
  return colour ? "\033[1m" + text + "\033[0m" : text;
}

std::string faint(const std::string& text, bool colour) {
  return colour ? "\033[2m" + text + "\033[0m" : text;
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

// Narrows the widest text column until the line fits or no text column can give more.
void fit(const Sheet& sheet, int width, std::vector<int>& widths) {
  while (total_width(widths) > width) {
    int widest = -1;
    for (std::size_t c = 0; c < widths.size(); ++c) {
      const bool can_give = !sheet.columns[c].number && widths[c] > kLeastTextWidth;
      if (can_give && (widest < 0 || widths[c] > widths[widest])) widest = static_cast<int>(c);
    }
    if (widest < 0) return;
    --widths[widest];
  }
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

}  // namespace

std::string sheet_text(const Sheet& sheet, int width, bool colour) {
  std::vector<int> widths = natural_widths(sheet);
  fit(sheet, width, widths);
  std::vector<std::string> headers;
  for (const Sheet::Column& column : sheet.columns) headers.push_back(column.header);
  std::string result = bold(line_of(sheet, widths, headers, width), colour) + "\n";
  for (const Sheet::Row& row : sheet.rows) {
    if (row.is_heading(sheet)) {
      result += bold(clipped(row.cells[0], width), colour) + "\n";
    } else {
      result += faint(line_of(sheet, widths, row.cells, width), colour && row.quiet) + "\n";
    }
  }
  return result;
}

namespace {

constexpr int kLeastWidth = 40;

// Writes a document for a terminal, block after block.
class TerminalWriter {
 public:
  TerminalWriter(int width, bool colour) : width_(std::max(width, kLeastWidth)), colour_(colour) {}

  void title(const std::string& text) {
    if (!text.empty()) text_ += bold(clipped(text, width_), colour_) + "\n";
  }
  void write(const std::vector<Section::Block>& blocks) {
    for (const Section::Block& block : blocks) std::visit(*this, block);
  }
  std::string take() { return std::move(text_); }

  void operator()(const Paragraph& paragraph) {
    text_ += wrapped(paragraph.text, width_, std::string(static_cast<std::size_t>(paragraph.indent), ' '));
  }
  void operator()(const NoteList& list) {
    std::size_t number = 0;
    for (const NoteList::Note& note : list.notes) {
      const std::string lead = list.numbered ? fmt::format("{}. ", ++number) : list.lead;
      text_ += wrapped(lead + (note.about.empty() ? "" : note.about + ": ") + note.text, width_, "");
    }
  }
  void operator()(const Sheet& sheet) { text_ += sheet_text(sheet, width_, colour_); }
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
  int width_;
  bool colour_;
  std::string text_;
};

// Labels of users may hold what would end a cell or the row: a bar is escaped, a line break becomes a blank.
std::string markdown_row(const std::vector<std::string>& cells) {
  std::string line = "|";
  for (const std::string& cell : cells) {
    line += " ";
    for (const char c : cell) {
      if (c == '|') line += '\\';
      line += c == '\n' || c == '\r' ? ' ' : c;
    }
    line += " |";
  }
  return line + "\n";
}

// Writes a document as Markdown; a blank line stands between blocks.
class MarkdownWriter {
 public:
  explicit MarkdownWriter(int level) : level_(level) {}

  void title(const std::string& text, int level) {
    if (text.empty()) return;
    gap();
    text_ += std::string(static_cast<std::size_t>(level), '#') + " " + text + "\n";
  }
  void write(const std::vector<Section::Block>& blocks) {
    for (const Section::Block& block : blocks) std::visit(*this, block);
  }
  std::string take() { return std::move(text_); }

  void operator()(const Paragraph& paragraph) {
    gap();
    text_ += paragraph.text + "\n";
  }
  void operator()(const NoteList& list) {
    gap();
    for (const NoteList::Note& note : list.notes) {
      text_ +=
          (list.numbered ? "1. " : "- ") + (note.about.empty() ? "" : "**" + note.about + "**: ") + note.text + "\n";
    }
  }
  void operator()(const Sheet& sheet) {
    gap();
    std::vector<std::string> headers;
    for (const Sheet::Column& column : sheet.columns) headers.push_back(column.header);
    text_ += markdown_row(headers) + markdown_row(std::vector<std::string>(headers.size(), "---"));
    for (const Sheet::Row& row : sheet.rows) {
      std::vector<std::string> cells = row.cells;
      if (row.is_heading(sheet)) cells.front() = "**" + cells.front() + "**";
      cells.resize(sheet.columns.size());
      text_ += markdown_row(cells);
    }
  }
  void operator()(const Chart&) {}
  void operator()(const Section& section) {
    title(section.heading + (section.remark.empty() ? "" : ", " + section.remark), level_);
    ++level_;
    write(section.blocks);
    --level_;
  }

 private:
  void gap() {
    if (!text_.empty()) text_ += "\n";
  }

  int level_;
  std::string text_;
};

}  // namespace

void Document::add(Section section) {
  if (!section.blocks.empty()) blocks.emplace_back(std::move(section));
}

Section table_section(std::string heading, std::string caption, Sheet sheet) {
  Section section{std::move(heading), {}};
  if (sheet.rows.empty()) return section;
  if (!caption.empty()) section.blocks.emplace_back(Paragraph{std::move(caption), Paragraph::Role::caption});
  section.blocks.emplace_back(std::move(sheet));
  return section;
}

std::string document_text(const Document& document, int width, bool colour) {
  TerminalWriter writer(width, colour);
  writer.title(document.title);
  writer.write(document.blocks);
  return writer.take();
}

std::string document_markdown(const Document& document, int level) {
  MarkdownWriter writer(level);
  writer.title(document.title, level - 1);
  writer.write(document.blocks);
  return writer.take();
}

}  // namespace shardsim
