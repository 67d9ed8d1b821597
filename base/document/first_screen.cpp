#include "base/document/first_screen.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>

#include "base/text.h"

namespace shardsim {
namespace {

using Role = Paragraph::Role;

// Rows from all over the sheet, with the first and the last one.
Sheet with_even_rows(const Sheet& whole, std::size_t most) {
  Sheet sheet = whole;
  sheet.rows.clear();
  const std::size_t last = whole.rows.size() - 1;
  for (std::size_t i = 0; i < most; ++i) sheet.rows.push_back(whole.rows[most < 2 ? last : i * last / (most - 1)]);
  return sheet;
}

int lines_of(const Document& document, int width) {
  const std::string text = document_text(document, width, false);
  return static_cast<int>(std::ranges::count(text, '\n'));
}

// The sheet with so many of its rows: the first below each heading, then the second ones, and so on; a heading stays
// with its rows.
Sheet with_rows(const Sheet& whole, std::size_t most) {
  if (whole.in_time && most < whole.rows.size()) return with_even_rows(whole, most);
  std::vector<std::pair<std::size_t, std::size_t>> order;  // place below the heading, place in the sheet
  std::size_t below = 0;
  for (std::size_t i = 0; i < whole.rows.size(); ++i) {
    below = whole.rows[i].is_heading(whole) ? 0 : below + 1;
    order.emplace_back(std::max<std::size_t>(below, 1), i);
  }
  std::ranges::sort(order);
  order.resize(std::min(order.size(), most));
  std::ranges::sort(order, {}, &std::pair<std::size_t, std::size_t>::second);
  Sheet sheet = whole;
  sheet.rows.clear();
  for (const auto& [place, row] : order) sheet.rows.push_back(whole.rows[row]);
  if (!sheet.rows.empty() && sheet.rows.back().is_heading(sheet)) sheet.rows.pop_back();
  return sheet;
}

std::size_t rows_of(const Sheet& sheet) {
  return static_cast<std::size_t>(
      std::ranges::count_if(sheet.rows, [&](const Sheet::Row& row) { return !row.is_heading(sheet); }));
}

// "Collectives" as within a sentence; names, such as TorchRec, stay as they are.
std::string in_small(std::string heading) {
  const std::string first = heading.substr(0, heading.find(' '));
  const auto is_capital = [](unsigned char c) { return std::isupper(c) != 0; };
  if (std::ranges::count_if(first, is_capital) == 1 && is_capital(static_cast<unsigned char>(first[0])))
    heading[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(heading[0])));
  return heading;
}

// A sentence that a screen can do without, where it would leave no room for the table that it is about: all but the
// first one, warnings, and commands.
bool is_further_answer(const Paragraph& paragraph) {
  return paragraph.role == Role::summary && !paragraph.unbroken;
}

std::size_t answers_in(const std::vector<Section::Block>& blocks) {
  std::size_t count = 0;
  for (const Section::Block& block : blocks) {
    if (const auto* const paragraph = std::get_if<Paragraph>(&block)) count += is_further_answer(*paragraph) ? 1 : 0;
    if (const auto* const section = std::get_if<Section>(&block)) count += answers_in(section->blocks);
  }
  return count;
}

// Leaves the last of these sentences out. False where there is none.
bool leave_out_answer(std::vector<Section::Block>& blocks) {
  for (std::size_t at = blocks.size(); at-- > 0;) {
    if (auto* const section = std::get_if<Section>(&blocks[at]);
        section != nullptr && leave_out_answer(section->blocks))
      return true;
    const auto* const paragraph = std::get_if<Paragraph>(&blocks[at]);
    if (paragraph == nullptr || !is_further_answer(*paragraph)) continue;
    blocks.erase(blocks.begin() + static_cast<std::ptrdiff_t>(at));
    return true;
  }
  return false;
}

class FirstScreen {
 public:
  // `without`: sentences that were left out of the document before.
  FirstScreen(const Document& whole, int width, int lines, int tables, std::size_t without)
      : width_(width), lines_(lines), tables_(tables), sentences_(without) {
    shown_.title = whole.title;
    count_answers(whole.blocks);
    for (const Section::Block& block : whole.blocks) add(block);
  }

  // Rows of its first table that there was no room for, while fewer stand there than tell something of it.
  bool lacks_rows() const { return lacks_rows_; }

  Document take() {
    shown_.blocks.emplace_back(Paragraph{left_text()});
    return std::move(shown_);
  }

 private:
  // The lines that the answers take wherever they stand, and one on what is left out.
  void count_answers(const std::vector<Section::Block>& blocks) {
    Document answers{shown_.title, "", {}};
    collect(blocks, true, answers);
    answer_lines_ = lines_of(answers, width_) + 1;
  }

  static bool is_answer(const Paragraph& paragraph, bool outside) {
    const bool weighty = paragraph.role == Role::summary || paragraph.role == Role::notice;
    return weighty || (outside && paragraph.role == Role::plain);
  }

  static void collect(const std::vector<Section::Block>& blocks, bool outside, Document& answers) {
    for (const Section::Block& block : blocks) {
      if (const auto* const paragraph = std::get_if<Paragraph>(&block)) {
        if (is_answer(*paragraph, outside)) answers.blocks.emplace_back(*paragraph);
      } else if (const auto* const section = std::get_if<Section>(&block)) {
        Document inside;
        collect(section->blocks, false, inside);
        Section part = *section;  // whose heading takes lines, too
        part.blocks = std::move(inside.blocks);
        answers.add(std::move(part));
      }
    }
  }

  void add(const Section::Block& block) {
    if (const auto* const paragraph = std::get_if<Paragraph>(&block)) {
      if (is_answer(*paragraph, true)) shown_.blocks.emplace_back(*paragraph);
    } else if (const auto* const section = std::get_if<Section>(&block)) {
      add_section(*section);
    } else if (const auto* const sheet = std::get_if<Sheet>(&block)) {
      Section alone{"", {}};
      add_sheet(*sheet, alone, "");
      shown_.add(std::move(alone));
    } else if (const auto* const list = std::get_if<NoteList>(&block)) {
      notes_ += list->notes.size();
    }
  }

  void add_section(const Section& whole) {
    Section section = whole;
    section.blocks.clear();
    std::vector<const Section*> parts;
    for (const Section::Block& block : whole.blocks) {
      if (const auto* const paragraph = std::get_if<Paragraph>(&block)) {
        if (is_answer(*paragraph, false)) section.blocks.emplace_back(*paragraph);
      } else if (const auto* const sheet = std::get_if<Sheet>(&block)) {
        add_sheet(*sheet, section, whole.heading);
      } else if (const auto* const list = std::get_if<NoteList>(&block)) {
        notes_ += list->notes.size();
      } else if (const auto* const part = std::get_if<Section>(&block)) {
        parts.push_back(part);
      }
    }
    shown_.add(std::move(section));
    for (const Section* const part : parts) add_section(*part);
  }

  // Adds as many rows as there is room for.
  void add_sheet(const Sheet& whole, Section& section, const std::string& heading) {
    constexpr std::size_t kWorthShowing = 2;  // fewer rows tell nothing of a table
    constexpr std::size_t kTellingRows = 5;
    const std::size_t rows = rows_of(whole);
    if (rows == 0) return;
    if (tables_ > 0) {
      // A row takes a line or more, so of a long table only as many are tried as there are lines.
      const std::size_t room = std::min(whole.rows.size(), static_cast<std::size_t>(lines_));
      for (std::size_t most = room; most >= std::min(whole.rows.size(), kWorthShowing); --most) {
        Sheet part = with_rows(whole, most);
        Section trial = section;
        trial.blocks.emplace_back(part);
        Document with = tables_alone_;
        with.add(trial);
        if (lines_of(with, width_) + answer_lines_ > lines_) continue;
        if (rows_of(part) < rows) cut_.emplace_back(heading, rows - rows_of(part));
        lacks_rows_ = lacks_rows_ || (tables_alone_.blocks.empty() && rows_of(part) < std::min(rows, kTellingRows));
        tables_alone_ = std::move(with);
        section = std::move(trial);
        --tables_;
        return;
      }
    }
    lacks_rows_ = lacks_rows_ || (tables_ > 0 && tables_alone_.blocks.empty());
    tables_ = 0;  // a later table says less than an earlier one
    const auto is_cut = [&](const auto& cut) { return cut.first == heading; };
    if (!heading.empty() && std::ranges::none_of(cut_, is_cut) &&
        std::ranges::find(left_, in_small(heading)) == left_.end())
      left_.push_back(in_small(heading));
  }

  std::string left_text() const {
    std::vector<std::string> parts;
    for (const auto& [heading, rows] : cut_)
      parts.push_back(
          fmt::format("{}{}", counted(rows, "more row"), heading.empty() ? "" : " of " + in_small(heading)));
    for (const std::string& heading : left_) parts.push_back(heading);
    if (sentences_ > 0) parts.push_back(counted(sentences_, "sentence"));
    if (notes_ > 0) parts.push_back(counted(notes_, "note"));
    return fmt::format("With --details: {}.", join(parts.empty() ? std::vector<std::string>{"legends"} : parts));
  }

  int width_, lines_, tables_;
  int answer_lines_ = 0;
  std::size_t sentences_;
  bool lacks_rows_ = false;
  Document shown_, tables_alone_;
  std::vector<std::pair<std::string, std::size_t>> cut_;  // tables by heading, and how many of their rows are left out
  std::vector<std::string> left_;                         // headings of tables that are left out
  std::size_t notes_ = 0;
};

}  // namespace

std::string first_screen_text(const Document& document, int width, bool colour, int tables) {
  if (lines_of(document, width) <= kFirstScreenLines) return document_text(document, width, colour);
  const std::size_t sentences = answers_in(document.blocks);
  Document shorter = document;
  for (std::size_t without = 0;; ++without) {
    Document screen;
    bool lacks_rows = false;
    for (int lines = kFirstScreenLines; lines > 0; --lines) {  // the more is left out, the longer is the line of it
      FirstScreen trial(shorter, width, lines, tables, without);
      lacks_rows = trial.lacks_rows();
      screen = trial.take();
      if (lines_of(screen, width) <= kFirstScreenLines) break;
    }
    if (!lacks_rows || without + 1 >= sentences) return document_text(screen, width, colour);
    leave_out_answer(shorter.blocks);
  }
}

}  // namespace shardsim
