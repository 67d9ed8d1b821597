#include "base/document/first_screen.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "tests/base/error_text.h"

using namespace shardsim;

namespace {

using Role = Paragraph::Role;

Sheet sheet_of_groups(int groups, int rows) {
  Sheet sheet;
  sheet.columns = {{"case", false, true}, {"ms"}};
  for (int g = 0; g < groups; ++g) {
    sheet.rows.push_back({{fmt::format("group {}", g)}});
    for (int r = 0; r < rows; ++r) sheet.rows.push_back({{fmt::format("case {}.{}", g, r), "1.0"}});
  }
  return sheet;
}

Document long_document(int groups, int rows) {
  Document document{"Title", "", {}};
  document.add(table_section("Cases", "A legend that explains the columns.", sheet_of_groups(groups, rows)));
  document.blocks.emplace_back(Paragraph{"The answer.", Role::summary});
  document.add(table_section("Collectives", "Another legend.", sheet_of_groups(1, 40)));
  NoteList notes;
  notes.notes = {{"first", ""}, {"second", ""}};
  document.add({"Notes", {notes}});
  return document;
}

auto lines_of(const std::string& text) {
  return std::ranges::count(text, '\n');
}

}  // namespace

TEST_CASE("a document that fits on a screen is shown whole") {
  Document document{"Title", "", {}};
  document.add(table_section("Cases", "A legend.", sheet_of_groups(1, 3)));
  CHECK(first_screen_text(document, 100, false) == document_text(document, 100, false));
}

TEST_CASE("a long document shows its answer, the first table, and what is left out") {
  const std::string text = first_screen_text(long_document(1, 4), 100, false);
  CHECK(lines_of(text) <= kFirstScreenLines);
  for (const char* const part : {"Title", "CASES", "case 0.3", "The answer.", "--details: collectives, 2 notes."})
    CHECK_MESSAGE(has(text, part), part);
  for (const char* const part : {"legend", "COLLECTIVES", "first"}) CHECK_MESSAGE(!has(text, part), part);
}

TEST_CASE("more tables are shown where they are asked for and there is room") {
  const std::string text = first_screen_text(long_document(1, 4), 100, false, 2);
  CHECK(lines_of(text) <= kFirstScreenLines);
  CHECK(has(text, "COLLECTIVES"));
  CHECK(has(text, "more rows of collectives"));
}

TEST_CASE("rows that do not fit give way below each heading alike, and are counted") {
  const std::string text = first_screen_text(long_document(4, 20), 100, false);
  CHECK(lines_of(text) <= kFirstScreenLines);
  for (const char* const part : {"group 3", "case 0.0", "case 3.0", "case 0.1"}) CHECK_MESSAGE(has(text, part), part);
  CHECK_FALSE(has(text, "case 0.19"));
  const auto shown = [&] {
    int count = 0;
    for (std::size_t at = text.find("  case "); at != std::string::npos; at = text.find("  case ", at + 1)) ++count;
    return count - 1;  // the header of the column
  }();
  CHECK(has(text, fmt::format("{} more rows of cases", 80 - shown)));
}

TEST_CASE("warnings are shown wherever they stand, also on narrow terminals") {
  Document document = long_document(4, 20);
  document.blocks.emplace_back(Section{"Part", {Paragraph{"WARNING: out of memory.", Role::notice}}});
  for (const int width : {40, 80, 100, kNoTerminal}) {
    const std::string text = first_screen_text(document, width, false);
    CHECK(has(text, "WARNING: out of memory."));
    CHECK(lines_of(text) <= kFirstScreenLines);
  }
}
