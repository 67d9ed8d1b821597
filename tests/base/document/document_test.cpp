#include "base/document/document.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "base/document/cells.h"
#include "base/text.h"

namespace shardsim::document_test {

namespace {

Sheet small_sheet() {
  Sheet sheet;
  sheet.columns = {{"name", false}, {"time ms"}};
  sheet.rows = {{{"a"}, false}, {{"first", "9.5"}, false}, {{"second", "120.0"}, true}};
  return sheet;
}

}  // namespace

TEST_CASE("numbers stand right, text stands left, headings span the columns") {
  CHECK(sheet_text(small_sheet(), 80, false) ==
        "  name    time ms\n"
        "a\n"
        "  first       9.5\n"
        "  second    120.0\n");
}

TEST_CASE("colour adds bold and faint and nothing else") {
  std::string text = sheet_text(small_sheet(), 80, true);
  CHECK(text.find("\033[2m  second    120.0\033[0m") != std::string::npos);
  CHECK(text.find("\033[36ma\033[0m") != std::string::npos);
  for (const std::string code : {"\033[1m", "\033[2m", "\033[36m", "\033[0m"}) {
    for (std::size_t at = text.find(code); at != std::string::npos; at = text.find(code)) text.erase(at, code.size());
  }
  CHECK(text == sheet_text(small_sheet(), 80, false));
}

TEST_CASE("text columns give way when the line is too long, numbers stay whole") {
  Sheet sheet = small_sheet();
  sheet.rows.push_back({{std::string(60, 'x'), "7.0"}, false});
  const std::string text = sheet_text(sheet, 30, false);
  for (const std::string& line : split(text, '\n')) CHECK(display_width(line) <= 30);
  CHECK(text.find("x~") != std::string::npos);
  CHECK(text.find("7.0") != std::string::npos);
}

TEST_CASE("a column that the line has no room for goes as a whole: a number without its end is another one") {
  Sheet sheet;
  sheet.columns = {{"planner", false}, {"iteration ms"}, {"samples/s"}, {"cost"}, {"busiest", false}};
  sheet.rows = {{{"three tiers", "223.2", "587,158", "0.0621", "node1/nic0/in"}}};
  CHECK(sheet_text(sheet, 46, false) ==
        "  planner      iteration ms  samples/s    cost\n"
        "  three tiers         223.2    587,158  0.0621\n"
        "A wider terminal also shows: busiest.\n");
  CHECK(sheet_text(sheet, 44, false) ==
        "  planner      iteration ms  samples/s\n"
        "  three tiers         223.2    587,158\n"
        "A wider terminal also shows: cost, busiest.\n");
}

TEST_CASE("a title that is longer than a line takes two, warnings are yellow and commands green") {
  const std::string title = "60 tables and a history of 30 million rows on 4 nodes of 8 H100: drift of plans/torchrec";
  Document document{title, "", {}};
  document.blocks.emplace_back(Paragraph{"It does not fit.", Paragraph::Role::notice});
  document.blocks.emplace_back(Paragraph{"Next: shardsim why x.yaml", Paragraph::Role::summary, 0, true});
  CHECK(document_text(document, 80, true) ==
        "\033[1m60 tables and a history of 30 million rows on 4 nodes of 8 H100: drift of\033[0m\n"
        "\033[1mplans/torchrec\033[0m\n"
        "\033[33mIt does not fit.\033[0m\n"
        "\033[32mNext: shardsim why x.yaml\033[0m\n");
}

TEST_CASE("names that are cut stay apart, whatever tells them apart") {
  const auto first_column = [](const std::vector<std::string>& names) {
    Sheet sheet;
    sheet.columns = {{"case", false}, {"time ms"}};
    for (const std::string& name : names) sheet.rows.push_back({{name, "7.0"}});
    const std::vector<std::string> lines = split(sheet_text(sheet, 28, false), '\n');
    std::vector<std::string> shown;
    for (std::size_t row = 1; row <= names.size(); ++row) shown.push_back(lines.at(row).substr(2, 17));
    return shown;
  };
  using Names = std::vector<std::string>;
  CHECK(first_column({"experiment_2026_batch_1024_lr_low", "experiment_2026_batch_1024_lr_high"}) ==
        Names{"experime~4_lr_low", "experime~_lr_high"});
  CHECK(first_column({"one_plan_of_many_named_row", "two_plan_of_many_named_row", "short"}) ==
        Names{"one_plan~amed_row", "two_plan~amed_row", "short            "});
  // The difference is in the middle of long names: another part of them is left out, or the start that all share.
  for (const Names& alike :
       {Names{"experiment_A_2026_row_wise", "experiment_B_2026_row_wise"},
        Names{"a_very_long_beginning_1_and_a_very_long_end", "a_very_long_beginning_2_and_a_very_long_end"},
        Names{std::string(30, 'x') + "a" + std::string(30, 'x') + "c" + std::string(30, 'x'),
              std::string(30, 'x') + "b" + std::string(30, 'x') + "c" + std::string(30, 'x'),
              std::string(30, 'x') + "a" + std::string(30, 'x') + "d" + std::string(30, 'x')}}) {
    const Names shown = first_column(alike);
    for (std::size_t i = 0; i < shown.size(); ++i)
      for (std::size_t j = i + 1; j < shown.size(); ++j) CHECK(shown[i] != shown[j]);
  }
}

TEST_CASE("a name stays whole: what stands beside it gives way, then it has a line of its own") {
  Sheet sheet;
  sheet.columns = {{"case", false, true}, {"ms"}, {"limited by", false}};
  sheet.rows = {{{"v3.1/h100/8x55296", "3.6", "node0/pcie/switch1-cpu1"}}, {{"short", "2.0", "rank 0 compute"}}};
  CHECK(sheet_text(sheet, 42, false) ==
        "  case                ms  limited by\n"
        "  v3.1/h100/8x55296  3.6  node0/p~ch1-cpu1\n"
        "  short              2.0  rank 0 compute\n");
  CHECK(sheet_text(sheet, 40, false) ==
        "  case              ms  limited by\n"
        "  v3.1/h100/8x55296\n"
        "                   3.6  node0/p~ch1-cpu1\n"
        "  short            2.0  rank 0 compute\n");
}

TEST_CASE("a line without room for all columns does without the minor ones, and says so") {
  Sheet sheet;
  sheet.columns = {
      {"case", false, true}, {"ms"}, {"rate", true, false, true}, {"of", true, false, true}, {"by", false}};
  sheet.rows = {{{"heading"}}, {{"v3.1/h100/8x55296", "3.6", "12.5", "80", "node0/nic1/out"}}};
  CHECK(sheet_text(sheet, 51, false).find("80  node0/nic1/out") != std::string::npos);
  CHECK(sheet_text(sheet, 49, false) ==
        "  case                ms  rate  by\n"
        "heading\n"
        "  v3.1/h100/8x55296  3.6  12.5  node0/nic1/out\n"
        "A wider terminal also shows: of.\n");
  CHECK(sheet_text(sheet, 40, false).find("also shows: rate, of.") != std::string::npos);
  // A name that has a line of its own anyway costs no column.
  sheet.rows.push_back({{std::string(60, 'x'), "3.6", "12.5", "80", "node0/nic1/out"}});
  CHECK(sheet_text(sheet, 51, false).find("wider") == std::string::npos);
  // Piped text is not folded, and nothing is cut.
  const std::string piped = document_text({"", "", {sheet}}, kNoTerminal, false);
  CHECK(piped.find(std::string(60, 'x') + "  3.6  12.5  80  node0/nic1/out\n") != std::string::npos);
}

TEST_CASE("a table that is spelt out says in full what its cells have no room for, once") {
  Sheet sheet;
  sheet.columns = {{"compute_model_of_a_case", false}, {"ms"}, {"planner", false}};
  for (const char* const time : {"1.0", "2.0"})
    sheet.rows.push_back({{"roofline", time, "two tiers of a rather long label"}});
  CHECK(sheet_text(sheet, 42, false).find("In full") == std::string::npos);
  sheet.spelt_out = true;
  CHECK(sheet_text(sheet, 70, false).find("In full") == std::string::npos);
  CHECK(sheet_text(sheet, 30, false).find("also shows:\nplanner.") != std::string::npos);
  std::string text = sheet_text(sheet, 42, false);
  CHECK(sheet_text(sheet, 200, false).find("In full") == std::string::npos);
  std::replace(text.begin(), text.end(), '\n', ' ');
  CHECK(text.find("is compute_model_of_a_case; ") != std::string::npos);
  const std::size_t label = text.find(" is two tiers of a rather long label.");
  CHECK(label != std::string::npos);
  CHECK(text.find("two tiers of a rather", label + 5) == std::string::npos);
}

TEST_CASE("data with a unit stand without exponent, and what rounding left of 0 as 0") {
  const Sheet sheet =
      sheet_of({"rows", {"start_ms", "p", "memory_gib"}, {{7.457e-15, 1e-6, -3.215e-05}, {2.5e-7, 0.5, 1.5}}});
  CHECK(sheet.rows[0].cells == std::vector<std::string>{"0", "1e-06", "-0.00003215"});
  CHECK(sheet.rows[1].cells == std::vector<std::string>{"0.00000025", "0.5", "1.5"});
  CHECK(grouped_decimals(1e-5) == "0.000010");
  CHECK(grouped_decimals(1e-9) == "0.0");
}

TEST_CASE("no line passes the width, even when nothing can give way") {
  Sheet sheet;
  for (int i = 0; i < 12; ++i) sheet.columns.push_back({"123456"});
  sheet.rows.push_back({std::vector<std::string>(12, "123456"), false});
  for (const std::string& line : split(sheet_text(sheet, 40, false), '\n')) CHECK(display_width(line) <= 40);
}

TEST_CASE("clipping counts code points and never cuts one") {
  CHECK(clipped("abc", 3) == "abc");
  CHECK(clipped("abcd", 3) == "ab~");
  CHECK(clipped("\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4", 3) == "\xC3\xA4\xC3\xA4~");
  CHECK(clipped("abcd", 1) == "~");
  CHECK(clipped("abcd", 0).empty());
}

TEST_CASE("control characters of a name do not reach the terminal") {
  CHECK(clipped("a\033[31mb\nc", 20) == "a?[31mb?c");
}

TEST_CASE("a paragraph is broken between words, a long word is cut") {
  CHECK(wrapped("one two three", 8, "") == "one two\nthree\n");
  CHECK(wrapped("abcdefghij", 5, "") == "abcd~\n");
  CHECK(wrapped("", 5, "").empty());
}

TEST_CASE("an HTML table escapes every cell") {
  Sheet sheet = small_sheet();
  sheet.rows.push_back({{"</script><b>&\"'", "1"}, false});
  const std::string html = sheet_html(sheet);
  CHECK(html.find("&lt;/script&gt;&lt;b&gt;&amp;&quot;&#39;") != std::string::npos);
  CHECK(html.find("</script>") == std::string::npos);
  CHECK(html.find("<table class=\"sheet t1\">") != std::string::npos);  // the first column is text, the other numbers
  CHECK(html.find("<td>9.5\n") != std::string::npos);
  CHECK(html.find("<td colspan=\"2\">a\n") != std::string::npos);
}

TEST_CASE("one document stands on a terminal, in Markdown and on a page") {
  Section named{"a_name", {NoteList{{{"it is <slow>", "plan"}}, false, "Note: "}}};
  named.style = Section::Heading::as_it_is;
  Section silent = table_section("Ranks", "", small_sheet());
  silent.style = Section::Heading::page_only;
  Section times = table_section("Times", "In ms.", small_sheet());
  times.remark = "slowest last";
  times.blocks.emplace_back(Chart{"one", "plot", "Drawn", "Bars.", false, {{"rows", {"time_ms"}, {{1.5}}}}});
  Document document{"Run", "file, seed 1", {Paragraph{"All is well: 3 ms.", Paragraph::Role::summary}}};
  document.add(times);
  document.add(named);
  document.add(silent);
  document.add(table_section("Empty", "Nothing.", {}));
  const std::string table = "  name    time ms\na\n  first       9.5\n  second    120.0\n";
  CHECK(document_text(document, 80, false) == "Run\nAll is well: 3 ms.\n\nTIMES, slowest last\n" + table +
                                                  "In ms.\n\na_name\nNote: plan: it is <slow>\n\n" + table);
  const std::string markdown = "| name | time ms |\n| --- | --- |\n| **a** |  |\n| first | 9.5 |\n| second | 120.0 |\n";
  CHECK(document_markdown(document, 2) == "# Run\n\nAll is well: 3 ms.\n\n## Times, slowest last\n\n" + markdown +
                                              "\nIn ms.\n\n## a_name\n\n- **plan**: it is <slow>\n\n## Ranks\n\n" +
                                              markdown);
  const std::string page = document_html(document, [](const Chart& chart) { return "[" + chart.id + "]"; });
  CHECK(page.find("<h1>Run</h1>") != std::string::npos);
  CHECK(page.find("<p class=\"summary\">All is well: 3&nbsp;ms.</p>") != std::string::npos);
  CHECK(page.find("<h2>Times, slowest last</h2>") != std::string::npos);
  CHECK(page.find("<h3>Drawn</h3>\n<p class=\"caption\">Bars.</p>\n[one]") != std::string::npos);
  CHECK(page.find("The same as a table") != std::string::npos);
  CHECK(page.find("<li><b>plan</b>: it is &lt;slow&gt;</li>") != std::string::npos);
  CHECK(page.find("<h2>Ranks</h2>") != std::string::npos);
  CHECK(page.find("Empty") == std::string::npos);
}

TEST_CASE("a bar or a line break in a label does not end the row of a Markdown table") {
  Sheet sheet;
  sheet.columns = {{"name", false}};
  sheet.rows = {{{"a|b\nc"}}};
  Document document;
  document.blocks = {sheet};
  CHECK(document_markdown(document, 3) == "| name |\n| --- |\n| a\\|b c |\n");
}

TEST_CASE("numbers in tables") {
  CHECK(fixed(226.04, 1) == "226.0");
  CHECK(fixed(-0.04, 1) == "0.0");
  CHECK(fixed(-0.06, 1) == "-0.1");
  CHECK(fixed(1.0 / 0.0, 1) == "-");
  CHECK(decimals_for(226) == 1);
  CHECK(decimals_for(14) == 2);
  CHECK(decimals_for(3) == 3);
  CHECK(decimals_for(0.05) == 4);
  CHECK(grouped(579965.3) == "579,965");
  CHECK(grouped_decimals(1293.44) == "1,293.4");
  CHECK(grouped_decimals(0.03) == "0.03");
  CHECK(in_unit(346144, "rows") == "346,144");
  CHECK(in_unit(52.5, "%") == "52.5");
  CHECK(in_unit(3, "ms") == "3.00");
  CHECK(in_unit(307, "ms") == "307.0");
  CHECK(percent(12.34) == "12.3");
  CHECK(percent(std::nullopt) == "-");
  CHECK(signed_percent(12.34) == "+12.3");
  CHECK(signed_percent(-0.04) == "0.0");
}

}  // namespace shardsim::document_test
