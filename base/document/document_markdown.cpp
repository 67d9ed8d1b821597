#include "base/document/document.h"

namespace shardsim {
namespace {

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

std::string document_markdown(const Document& document, int level) {
  MarkdownWriter writer(level);
  writer.title(document.title, level - 1);
  writer.write(document.blocks);
  return writer.take();
}

}  // namespace shardsim
