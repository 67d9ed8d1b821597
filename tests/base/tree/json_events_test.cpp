#include "base/tree/json_events.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

namespace shardsim::json_events_test {
namespace {

// Writes what it is told as JSON again, without blanks.
class Echo : public JsonEvents {
 public:
  void key(std::string_view name) override {
    comma();
    said += nlohmann::json(name).dump() + ":";
    first_ = true;
  }
  void text(std::string_view value) override { add(nlohmann::json(value).dump()); }
  void number(std::string_view digits, double) override { add(std::string(digits)); }
  void word() override { add("?"); }
  void begin(bool is_list) override {
    add(is_list ? "[" : "{");
    first_ = true;
  }
  void end(bool is_list) override {
    said += is_list ? "]" : "}";
    first_ = false;
  }
  std::string said;

 private:
  void comma() {
    if (!first_) said += ",";
    first_ = false;
  }
  void add(const std::string& value) {
    comma();
    said += value;
  }
  bool first_ = true;
};

// A buffer that gives a few bytes at a time, so that every token is cut somewhere.
class Drops : public std::streambuf {
 public:
  explicit Drops(std::string text) : text_(std::move(text)) {}

 protected:
  std::streamsize xsgetn(char* to, std::streamsize most) override {
    constexpr std::streamsize kDrop = 3;
    const auto count = std::min({most, kDrop, static_cast<std::streamsize>(text_.size() - at_)});
    std::copy_n(text_.data() + at_, count, to);
    at_ += static_cast<std::size_t>(count);
    return count;
  }

 private:
  std::string text_;
  std::size_t at_ = 0;
};

std::string echoed(const std::string& text) {
  Drops drops(text);
  std::istream in(&drops);
  Echo echo;
  CHECK_FALSE(scan_json(in, echo).has_value());
  return echo.said;
}

ScanFault fault_in(const std::string& text) {
  std::istringstream in(text);
  Echo echo;
  return scan_json(in, echo).value_or(ScanFault{});
}

TEST_CASE("a text is told as it is, wherever the pieces are cut that it is read in") {
  CHECK(echoed(" { \"a\" : [ 1 , -2.5e3 , [ ] , { } , true , null ] , \"b\" : \"x y\" } ") ==
        R"({"a":[1,-2.5e3,[],{},?,?],"b":"x y"})");
  CHECK(echoed(R"(["\"\\\/\n", "\u00e9\ud83d\ude00", ""])") ==
        nlohmann::json::parse(R"(["\"\\\/\n","\u00e9\ud83d\ude00",""])").dump());
  CHECK(echoed("3") == "3");
  CHECK(echoed("\xef\xbb\xbf[1]") == "[1]");
}

TEST_CASE("floats that hold no number are words, as C++ and Python print them") {
  CHECK(echoed("[NaN, nan, Infinity, -Infinity, inf, -inf, -nan, null, -1]") == "[?,?,?,?,?,?,?,?,-1]");
  for (const char* const text : {"[nul]", "[-null]", "[in]", "[Inf]", "[-]", "[-"}) {
    CAPTURE(text);
    CHECK(fault_in(text).line == 1);
  }
}

TEST_CASE("what is no JSON, or ends too early, is told with its line") {
  for (const char* const text :
       {"",     "[",       "[1",    "[1,",   "[1,]",    "{\"a\"}", "{\"a\":}",  "{a:1}",         "[1 2]",
        "[1]]", "[tru]",   "[01x]", "[--1]", "[1e999]", "[\"a",    "[\"\\x\"]", "[\"\\ud83d\"]", "{\"a\":1,}",
        "[}",   "[\"\t\"]"}) {
    CAPTURE(text);
    CHECK(fault_in(text).line == 1);
  }
  CHECK(fault_in("[1,\n2,\n\"a\n\"]").line == 3);
}

TEST_CASE("the column of what is no JSON is told, in a line of any length") {
  CHECK(fault_in("[1,\n2, x]").column == 4);
  CHECK(fault_in("[1, Nun]").column == 5);
  // Longer than what is read at a time, so that the front of the line is gone when the fault comes.
  std::string line = "[\"first\", ";
  while (line.size() < (std::size_t{1} << 20)) line += "1, ";
  const auto before = static_cast<int>(line.size());
  CHECK(fault_in(line + "x]").column == before + 1);
  CHECK(fault_in(line).column >= before);  // it ends too early
}

}  // namespace
}  // namespace shardsim::json_events_test
