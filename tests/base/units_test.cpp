#include "base/units.h"

#include <doctest/doctest.h>

#include <clocale>

#include "base/error.h"
#include "tests/base/error_text.h"

namespace shardsim::units_test {

namespace {

const Place kPlace{"a.yaml", 2, 9};

Bytes bytes(const char* text) {
  return parse_bytes(text, kPlace);
}
Seconds seconds(const char* text) {
  return parse_seconds(text, kPlace);
}
Bandwidth rate(const char* text) {
  return parse_bandwidth(text, kPlace);
}

}  // namespace

// The worked examples of the unit rules (docs/formats/conventions.md, "Units in text").
TEST_CASE("the worked examples of the unit rules") {
  CHECK(rate("25 GB/s").bytes_per_second == 25e9);
  CHECK(rate("200 Gbit/s").bytes_per_second == 25e9);
  CHECK(rate("240Mbit").bytes_per_second == 30e6);
  CHECK(bytes("80 GiB").count == 85'899'345'920);
  CHECK(seconds("3 us").value == 3000e-9);
  CHECK(bytes("1.5 KiB").count == 1536);
  CHECK(has(error_of([] { bytes("1.0001 KiB"); }), "not a whole number of bytes"));
  CHECK(has(error_of([] { bytes("1e400 B"); }), "too large"));
  CHECK(has(error_of([] { seconds("nan s"); }), "finite decimal number"));
  CHECK(has(error_of([] { rate("inf GB/s"); }), "finite decimal number"));
}

TEST_CASE("every unit of the table has its value") {
  CHECK(bytes("7 B").count == 7);
  CHECK(bytes("7 KB").count == 7'000);
  CHECK(bytes("7 MB").count == 7'000'000);
  CHECK(bytes("7 GB").count == 7'000'000'000);
  CHECK(bytes("7 TB").count == 7'000'000'000'000);
  CHECK(bytes("7 KiB").count == 7LL << 10);
  CHECK(bytes("7 MiB").count == 7LL << 20);
  CHECK(bytes("7 GiB").count == 7LL << 30);
  CHECK(bytes("7 TiB").count == 7LL << 40);
  CHECK(seconds("5 ns").value == 5e-9);
  CHECK(seconds("5 us").value == 5e-6);
  CHECK(seconds("5 ms").value == 5e-3);
  CHECK(seconds("5 s").value == 5);
  CHECK(seconds("15 min").value == 900);
  CHECK(seconds("1.5 h").value == 5400);
  CHECK(seconds("1 day").value == 86'400);
  CHECK(to_text(seconds("2 h")) == "7200 s");
  CHECK(rate("3 B/s").bytes_per_second == 3);
  CHECK(rate("3 TB/s").bytes_per_second == 3e12);
  CHECK(rate("51 GiB/s").bytes_per_second == 51.0 * 1024 * 1024 * 1024);
  CHECK(rate("8 Kbit/s").bytes_per_second == 1e3);
  CHECK(rate("8 Tbit/s").bytes_per_second == 1e12);
  CHECK(parse_flops("19.5 TFLOP/s", kPlace).per_second == 19.5e12);
  CHECK(parse_flops("2 PFLOP/s", kPlace).per_second == 2e15);
  CHECK(parse_flops("4 FLOP/s", kPlace).per_second == 4);
}

TEST_CASE("a decimal is rounded once: the double is the one nearest to what is written") {
  CHECK(seconds("0.1 us").value == 1e-7);
  CHECK(seconds("4.1 us").value == 4.1e-6);
  CHECK(rate("79.3 GB/s").bytes_per_second == 79.3e9);
  CHECK(parse_share("52.5 %", kPlace) == 0.525);
  CHECK(bytes("1.005 TB").count == 1'005'000'000'000);
  CHECK(bytes("9007199254740993 B").count == 9'007'199'254'740'993);  // 2^53 + 1, which no double holds
  CHECK(bytes("0.5 TiB").count == 1LL << 39);
}

TEST_CASE("a bare number is refused, and the message proposes the same number with a unit") {
  CHECK(error_of([] { rate("300"); }) ==
        "a.yaml:2:9: \"300\" has no unit. Write for example \"300 GB/s\" or \"300 Gbit/s\".");
  CHECK(has(error_of([] { bytes("0"); }), "\"0 GiB\""));
  CHECK(has(error_of([] { seconds("3"); }), "\"3 us\""));
  CHECK(has(error_of([] { parse_percent("10", kPlace); }), "\"10 %\""));
}

TEST_CASE("ambiguous spellings are refused with the spellings to choose from") {
  CHECK(has(error_of([] { rate("25 Gb/s"); }), "Gbit/s for bits or GB/s for bytes"));
  CHECK(has(error_of([] { rate("25 GBps"); }), "Write GB/s"));
  CHECK(has(error_of([] { bytes("4 K"); }), "KB (1000 bytes) or KiB (1024 bytes)"));
  CHECK(has(error_of([] { bytes("4 M"); }), "MiB"));
  CHECK(has(error_of([] { bytes("4G"); }), "GiB"));
  CHECK(has(error_of([] { bytes("4 kB"); }), "KB (1000 bytes) or KiB (1024 bytes)"));
  CHECK(has(error_of([] { rate("240MBit"); }), "Mbit/s for bits"));
}

TEST_CASE("a comma in a number is told as what it is, and no unit is doubted") {
  CHECK(error_of([] { rate("1,5 GB/s"); }) ==
        "a.yaml:2:9: \"1,5 GB/s\" has a comma. Write a point before decimals, and no separators of thousands.");
  CHECK(has(error_of([] { bytes("1,024 GiB"); }), "has a comma"));
}

TEST_CASE("units are case-sensitive, belong to their quantity, and stand after at most one blank") {
  for (const char* text : {"4 gib", "4 GiB/s", "4 us", "4  GiB", "4 GiB ", "4\tGiB", "4 %", "4 Gbit", "GiB", ""}) {
    CAPTURE(text);
    CHECK_THROWS_AS(bytes(text), Error);
  }
  CHECK_THROWS_AS(rate("4 GB"), Error);
  CHECK_THROWS_AS(seconds("4 S"), Error);
  CHECK_THROWS_AS(seconds("4 Min"), Error);
}

TEST_CASE("signs stand only where a key allows them") {
  CHECK(has(error_of([] { bytes("-1 B"); }), "has a sign"));
  CHECK(has(error_of([] { seconds("-3 us"); }), "has a sign"));
  CHECK(has(error_of([] { rate("+3 GB/s"); }), "has a sign"));
  CHECK(parse_signed_bytes("-3 GiB", kPlace).count == -(3LL << 30));
  CHECK(parse_signed_bytes("+3 B", kPlace).count == 3);
  CHECK(parse_signed_bytes("0 B", kPlace).count == 0);
}

TEST_CASE("times and bytes may be zero, rates may not") {
  CHECK(bytes("0 B").count == 0);
  CHECK(seconds("0 s").value == 0);
  CHECK(has(error_of([] { rate("0 GB/s"); }), "not above zero"));
  CHECK(has(error_of([] { parse_flops("0 TFLOP/s", kPlace); }), "not above zero"));
}

TEST_CASE("numbers out of the range of their type are refused") {
  CHECK(bytes("9223372036854775807 B").count == INT64_MAX);
  CHECK_THROWS_AS(bytes("9223372036854775808 B"), Error);
  CHECK_THROWS_AS(bytes("8388608 TiB"), Error);  // 2^63
  CHECK(bytes("8388607 TiB").count == 8388607LL << 40);
  CHECK_THROWS_AS(seconds("1e309 s"), Error);
  CHECK_THROWS_AS(seconds("1e-400 s"), Error);
  CHECK_THROWS_AS(rate("1e308 GB/s"), Error);
  CHECK_THROWS_AS(bytes("1e999999999999999999999 B"), Error);
}

TEST_CASE("shares are reals from 0 to 1 or percentages") {
  CHECK(parse_share("0.6", kPlace) == 0.6);
  CHECK(parse_share("60 %", kPlace) == 0.6);
  CHECK(parse_share("60%", kPlace) == 0.6);
  CHECK(parse_share("0", kPlace) == 0);
  CHECK(parse_share("1", kPlace) == 1);
  for (const char* text : {"60", "1.01", "-0.1", "101 %", "-1 %", "%", "x", ""}) {
    CAPTURE(text);
    CHECK_THROWS_AS(parse_share(text, kPlace), Error);
  }
}

TEST_CASE("percentages need their sign") {
  CHECK(parse_percent("10%", kPlace) == 10);
  CHECK(parse_percent("12.5 %", kPlace) == 12.5);
  CHECK(parse_percent("-10%", kPlace) == -10);
}

// The YAML traps: 010 would be 8, 0x10 16 (docs/formats/conventions.md, "Traps of YAML").
TEST_CASE("counts are whole numbers without leading zero, however they are written") {
  CHECK(parse_count("0", kPlace) == 0);
  CHECK(parse_count("32", kPlace) == 32);
  CHECK(parse_count("1e6", kPlace) == 1'000'000);
  CHECK(parse_count("1.5e3", kPlace) == 1500);
  CHECK(parse_count("1.0", kPlace) == 1);  // JSON Schema knows no difference
  CHECK(parse_count("120.00", kPlace) == 120);
  CHECK(parse_count("9007199254740991", kPlace) == (1LL << 53) - 1);
  for (const char* text : {"010",   "0x10", "1_000", "1,000", "1.",     "1.5",  "1.05",
                           "1.5e0", "1e-1", "-1",    "+1",    "8 GPUs", "3 us", "9007199254740992",
                           "1e400", "nan",  ".inf",  "",      " 1",     "1 ",   "e6"}) {
    CAPTURE(text);
    CHECK_THROWS_AS(parse_count(text, kPlace), Error);
  }
  CHECK(has(error_of([] { parse_count("8 GB", kPlace); }), "a count has no unit"));
}

TEST_CASE("reals are finite decimals without unit") {
  CHECK(parse_real("-0.25", kPlace) == -0.25);
  CHECK(parse_real("1e-3", kPlace) == 1e-3);
  for (const char* text : {".inf", "inf", "nan", ".nan", "1e400", "0x1p3", "1.", ".5", "1.5x", "1,5", ""}) {
    CAPTURE(text);
    CHECK_THROWS_AS(parse_real(text, kPlace), Error);
  }
}

TEST_CASE("numbers do not depend on the locale") {
  const std::string before = std::setlocale(LC_ALL, nullptr);
  for (const char* name : {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8"}) std::setlocale(LC_ALL, name);
  CHECK(parse_real("0.5", kPlace) == 0.5);
  CHECK(to_text(Seconds{3.87e-3}) == "3.87 ms");
  std::setlocale(LC_ALL, before.c_str());
}

TEST_CASE("a message is one line, however broken the text") {
  const std::string text = error_of([] { bytes("4 \n\x01 GiB"); });
  CHECK(text.find_first_of("\n\x01") == std::string::npos);
  CHECK(error_of([] { bytes(std::string(100'000, '7').c_str()); }).size() < 300);
}

TEST_CASE("quantities print with three significant digits and never an exponent") {
  CHECK(to_text(Bytes{0}) == "0 B");
  CHECK(to_text(Bytes{512}) == "512 B");
  CHECK(to_text(Bytes{1000}) == "1000 B");
  CHECK(to_text(Bytes{1 << 20}) == "1 MiB");
  CHECK(to_text(Bytes{42305427866}) == "39.4 GiB");
  CHECK(to_text(Bytes{-(3LL << 30)}) == "-3 GiB");
  CHECK(to_text(Bandwidth{25e9}) == "25 GB/s");
  CHECK(to_text(Bandwidth{999.6e6}) == "1 GB/s");
  CHECK(to_text(Bandwidth{2039e9}) == "2.04 TB/s");
  CHECK(to_text(Seconds{3.87e-3}) == "3.87 ms");
  CHECK(to_text(Seconds{0.9996e-3}) == "1 ms");
  CHECK(to_text(Seconds{1500}) == "1500 s");
  CHECK(to_text(Seconds{0}) == "0 ns");
  CHECK(to_text(Flops{19.5e12}) == "19.5 TFLOP/s");
}

}  // namespace shardsim::units_test
