#include "base/text.h"

#include <doctest/doctest.h>

#include <cstdlib>

#include "base/encoding.h"

namespace shardsim::text_test {

TEST_CASE("split keeps empty parts and join undoes it") {
  CHECK(split("a//b", '/') == std::vector<std::string>{"a", "", "b"});
  CHECK(split("", '/') == std::vector<std::string>{""});
  CHECK(split("/", '/') == std::vector<std::string>{"", ""});
  CHECK(join(split("a.b.c", '.'), ".") == "a.b.c");
  CHECK(join({"a", "b"}) == "a, b");
  CHECK(join({}) == "");
}

TEST_CASE("a file that is no text is told by its first bytes") {
  const auto name_of = [](std::string_view bytes) { return std::string(binary_format(bytes).value().name); };
  CHECK(name_of("PK\x03\x04zip") == "a ZIP archive, as torch.save makes, too");
  CHECK(name_of("\x80\x04\x95") == "a pickle of Python");
  CHECK(name_of("SQLite format 3") == "a database of SQLite");
  CHECK(name_of("trace.json" + std::string(247, '\0') + "ustar  ") == "a tar archive");
  CHECK_FALSE(binary_format("name,rows"));
  CHECK_FALSE(binary_format("\x80"));
  CHECK_FALSE(binary_format(""));
}

TEST_CASE("the nearest name is the likely misspelling, not any name") {
  const std::vector<std::string> known = {"bandwidth", "latency", "rate"};
  CHECK(nearest("bandwith", known) == "bandwidth");
  CHECK(nearest("latencies", known) == "latency");
  CHECK(nearest("rat", known) == "rate");
  CHECK(nearest("colour", known) == "");
  CHECK(nearest("9", {"3", "4"}) == "");
  CHECK(nearest(std::string(100'000, 'a'), known) == "");
}

TEST_CASE("the hint names the nearest and lists the known names") {
  CHECK(known_names_hint("bandwith", {"bandwidth", "rate"}) == "Did you mean 'bandwidth'? Known: bandwidth, rate.");
  CHECK(known_names_hint("colour", {"bandwidth", "rate"}) == "Known: bandwidth, rate.");
  CHECK(known_names_hint("x", {}) == "None is known here.");
}

TEST_CASE("a name that is short, and not misspelt, is no other one") {
  CHECK(known_names_hint("h100", {"H800", "H100-PCIE-80GB", "A30", "H100-SXM5-80GB"}) ==
        "Did you mean 'H100-PCIE-80GB' or 'H100-SXM5-80GB'? Known: H800, H100-PCIE-80GB, A30, H100-SXM5-80GB.");
  CHECK(known_names_hint("H100", {"H800", "H1000"}) == "Did you mean 'H800'? Known: H800, H1000.");
}

TEST_CASE("an excerpt is one short line of valid text") {
  CHECK(excerpt("25 GB/s") == "\"25 GB/s\"");
  CHECK(excerpt("a\nb\x01\x7f") == "\"a?b??\"");
  CHECK(excerpt("\xff\xc3") == "\"??\"");
  CHECK(excerpt("µs") == "\"µs\"");
  CHECK(excerpt(std::string(100, 'x')) == "\"" + std::string(60, 'x') + "...\"");
}

TEST_CASE("what steers a terminal, hides or turns text around is shown as a question mark") {
  CHECK(printable("a\x1b[31mb") == "a?[31mb");
  CHECK(printable("a\xc2\x9b"
                  "31mb") == "a?31mb");  // U+009B, a control sequence in one character
  CHECK(printable("a\xe2\x80\xae"
                  "txt.exe") == "a?txt.exe");  // U+202E turns what follows
  CHECK(printable("a\xe2\x80\xa8"
                  "b") == "a?b");  // U+2028 ends a line
  CHECK(printable("a\xe2\x80\x8b"
                  "b") == "a?b");  // U+200B is not seen
  CHECK(printable("a\xe2\x81\xa6"
                  "b") == "a?b");  // U+2066 isolates
  CHECK(printable("a\x9b"
                  "31m") == "a?31m");                                                                        // no UTF-8
  CHECK(printable("\xc2\xb5s \xe2\x80\x93 \xf0\x9f\x98\x80") == "\xc2\xb5s \xe2\x80\x93 \xf0\x9f\x98\x80");  // µs – 😀
}

TEST_CASE("a hint of thousands of names lists some and says how many there are") {
  std::vector<std::string> names(9999, std::string(500, 'x'));
  const std::string hint = known_names_hint("y", names);
  CHECK(hint.size() < 8000);
  CHECK(hint.find("and 9,899 more") != std::string::npos);
}

TEST_CASE("plain text is well-formed UTF-8 without control characters") {
  std::size_t at = 0;
  for (const char* good : {"", "a\tb\r\n", "µ", "€", "\xf0\x9f\x9a\x80"}) {
    CAPTURE(good);
    CHECK(is_plain_text(good, at));
  }
  // Overlong forms, a surrogate, above U+10FFFF, a lone continuation, cut short, controls.
  for (const char* bad : {"ab\xc0\xaf", "ab\xe0\x80\xaf", "ab\xed\xa0\x80", "ab\xf4\x90\x80\x80", "ab\x80",
                          "ab\xe2\x82", "ab\x01", "ab\x7f", "ab\xff"}) {
    CAPTURE(bad);
    CHECK_FALSE(is_plain_text(bad, at));
    CHECK(at == 2);
  }
  CHECK_FALSE(is_plain_text(std::string_view("ab\0c", 4), at));
}

TEST_CASE("of many names the first ones stand for all") {
  CHECK(first_names({}, 2).empty());
  CHECK(first_names({"a", "b"}, 2) == "a, b");
  CHECK(first_names({"a", "b", "c", "d"}, 2) == "a, b and 2 more");
}

TEST_CASE("thousands are marked") {
  CHECK(with_thousands(0) == "0");
  CHECK(with_thousands(999) == "999");
  CHECK(with_thousands(1000) == "1,000");
  CHECK(with_thousands(1234567) == "1,234,567");
  CHECK(with_thousands(-123456) == "-123,456");
}

TEST_CASE("a count agrees with its noun") {
  CHECK(counted(0, "table") == "0 tables");
  CHECK(counted(1, "table") == "1 table");
  CHECK(counted(1024, "node") == "1024 nodes");
}

TEST_CASE("the shortest text of a double reads back as the same double") {
  for (const double value : {0.1, 1.0 / 3, 25e9, 1e-300, 5e-324, 123456789.0, -2.5}) {
    CAPTURE(value);
    CHECK(std::strtod(shortest(value).c_str(), nullptr) == value);
  }
  CHECK(shortest(0.1) == "0.1");
  CHECK(shortest(25) == "25");
}

TEST_CASE("a pattern fits whole texts: * any characters, ? one") {
  CHECK(fits_pattern("rm1/flexshard", "rm1/*"));
  CHECK(fits_pattern("rm1/flexshard", "*shard"));
  CHECK(fits_pattern("rm1", "rm?"));
  CHECK(fits_pattern("rm1", "*rm1*"));
  CHECK(fits_pattern("", "*"));
  CHECK(fits_pattern("[a]", "[a]"));
  CHECK_FALSE(fits_pattern("rm12", "rm?"));
  CHECK_FALSE(fits_pattern("rm1", "rm1/*"));
  CHECK_FALSE(fits_pattern("rm1", ""));
  // Stars that no text satisfies take no time beyond text times pattern.
  CHECK_FALSE(fits_pattern(std::string(2000, 'a'), "*a*a*a*a*a*a*a*a*a*a*a*a*b"));
}

TEST_CASE("a pattern may fit what begins with a text") {
  CHECK(may_fit_after("fabric/", "fabric/job"));
  CHECK(may_fit_after("fabric/", "fab*"));
  CHECK_FALSE(may_fit_after("fabric/", "fabric"));
  CHECK_FALSE(may_fit_after("fabric/", "other/*"));
}

TEST_CASE("a name that equals the pattern goes before what else fits") {
  const std::vector<std::string> names = {"a", "ab", "a*"};
  CHECK(fitting_names(names, "a*") == std::vector<std::size_t>{2});
  CHECK(fitting_names(names, "a?") == std::vector<std::size_t>{1, 2});
  CHECK(fitting_names(names, "b").empty());
}

}  // namespace shardsim::text_test
