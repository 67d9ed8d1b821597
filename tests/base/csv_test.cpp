#include "base/csv.h"

#include <doctest/doctest.h>

#include "tests/base/error_text.h"

namespace shardsim::csv_test {

namespace {

std::string fault(const std::string& text) {
  return error_of([&] { parse_csv(text, "t.csv"); });
}

}  // namespace

TEST_CASE("a table is read by its header, with the line of every row") {
  const CsvTable table = parse_csv("a,b\n1,2\n\n3,4\r\n", "t.csv");
  CHECK(table.header == std::vector<std::string>{"a", "b"});
  REQUIRE(table.rows.size() == 2);
  CHECK(table.rows[0].cells == std::vector<std::string>{"1", "2"});
  CHECK(table.rows[0].place == Place{"t.csv", 2});
  CHECK(table.rows[1].cells == std::vector<std::string>{"3", "4"});
  CHECK(table.rows[1].place == Place{"t.csv", 4});
  CHECK(table.column("b") == 1);
  CHECK_FALSE(table.column("c"));
}

TEST_CASE("quotes hold commas, quotes and line ends; the next row's line still counts") {
  const CsvTable table = parse_csv("a,b\n\"x, y\",\"he said \"\"no\"\"\"\n\"two\nlines\",\"\"\n5,", "t.csv");
  REQUIRE(table.rows.size() == 3);
  CHECK(table.rows[0].cells == std::vector<std::string>{"x, y", "he said \"no\""});
  CHECK(table.rows[1].cells == std::vector<std::string>{"two\nlines", ""});
  CHECK(table.rows[2].cells == std::vector<std::string>{"5", ""});
  CHECK(table.rows[2].place.line == 5);
}

TEST_CASE("a byte order mark is skipped, a last line needs no end, one column may be empty") {
  CHECK(parse_csv("\xef\xbb\xbf"
                  "a\n1",
                  "t.csv")
            .header == std::vector<std::string>{"a"});
  CHECK(parse_csv("a\n\n2\n", "t.csv").rows.size() == 2);
  CHECK(parse_csv("a,b\n", "t.csv").rows.empty());
}

TEST_CASE("another delimiter may stand between cells, and every cell has a place") {
  const CsvTable table = parse_csv("a;b\n\"x;y\";2,5\n", "t.csv", ';');
  CHECK(table.header_columns == std::vector<int>{1, 3});
  REQUIRE(table.rows.size() == 1);
  CHECK(table.rows[0].cells == std::vector<std::string>{"x;y", "2,5"});
  CHECK(table.rows[0].cell_place(1) == Place{"t.csv", 2, 7});
}

TEST_CASE("a cell that a spreadsheet would compute becomes a text, a number stays one") {
  for (const char* const formula : {"=cmd|' /C calc'!A0", "+1+2", "@SUM(A1)", "-2+3", "-rf", "\t=1"})
    CHECK(csv_cell(formula).find(std::string("'") + formula) <= 1);  // in quotes where it needs them
  for (const char* const plain : {"-1.5", "+2", "-1e-9", "-", "a=b", "", "1-2"}) CHECK(csv_cell(plain) == plain);
}

TEST_CASE("what is no table is refused with its line") {
  for (const char* const blank : {"", "\xef\xbb\xbf", "\n \r\n"})
    CHECK(has(fault(blank), "t.csv:1: the file is empty"));
  CHECK(has(fault("\n1,2\n"), "t.csv:1: the file has no header"));
  CHECK(has(fault("a,,b\n"), "a column has no name"));
  CHECK(has(fault("a,a\n"), "t.csv:1: column \"a\" appears twice"));
  CHECK(has(fault("a,b\n1,2\n1,2,3\n"), "t.csv:3: the row has 3 cells, and the header names 2 columns"));
  CHECK(has(fault("a,b\n1\n"), "t.csv:2: the row has 1 cells"));
  CHECK(has(fault("a,b\n1,x\"y\n"), "t.csv:2: a quote inside a cell"));
  CHECK(has(fault("a,b\n1,\"y\"z\n"), "t.csv:2: text after the closing quote"));
  CHECK(has(fault("a,b\n1,\"y\n2,3\n"), "t.csv:2: a quote is never closed"));
  CHECK(has(fault("a,b\n1,\xff\n"), "t.csv:2: the file is not UTF-8 text"));
  CHECK(has(fault(std::string("a,b\n1,\0\n", 8)), "not UTF-8 text"));
}

}  // namespace shardsim::csv_test
