#include "base/tree/json.h"

#include <doctest/doctest.h>

#include "base/rng.h"
#include "tests/base/error_text.h"

namespace shardsim::json_test {

namespace {

Tree json(const std::string& text) {
  return parse_json(text, "a.json");
}
std::string refusal(const std::string& text) {
  return error_of([&] { json(text); });
}

}  // namespace

TEST_CASE("a document becomes a tree: numbers and literals as text, strings quoted, keys as written") {
  const Tree tree = json(R"({"a-b": [1, -2, 2.50, 1e6, true, false, null, "x\u00b5"], "c": {}})");
  const std::vector<Tree>& items = tree.find("a-b")->items;
  REQUIRE(items.size() == 8);
  CHECK(items[0].scalar == "1");
  CHECK(items[1].scalar == "-2");
  CHECK(items[2].scalar == "2.50");
  CHECK(items[3].scalar == "1e6");
  CHECK(items[4].scalar == "true");
  CHECK(items[5].scalar == "false");
  CHECK(items[6].kind == Tree::Kind::null);
  CHECK(items[7].scalar == "x\xc2\xb5");
  CHECK(items[7].quoted);
  CHECK_FALSE(items[0].quoted);
  CHECK(tree.find("c")->kind == Tree::Kind::map);
}

TEST_CASE("places carry the column of the first character") {
  const Tree tree = json(R"({"a": [12, -1.5e3, "x\\", "q\"s", true, false, null, {"b": 7}], "c": 1e5})");
  std::vector<int> columns;
  for (const Tree& item : tree.find("a")->items) columns.push_back(item.place.column);
  CHECK(columns == std::vector<int>{8, 12, 20, 27, 35, 41, 48, 54});
  CHECK(tree.find("a")->place.column == 7);
  CHECK(tree.find("a")->items[7].find("b")->place.column == 60);
  CHECK(tree.find("c")->place.column == 70);
  CHECK(json("\xef\xbb\xbf[1]").items[0].place.column == 2);
  CHECK(json("[1,\n 22\n]").items[1].place == Place{"a.json", 2, 2});
}

TEST_CASE("places carry the line, also of a number that a line end follows") {
  const Tree tree = json("{\n\"a\": 1,\n\"b\": [\n2\n,\n\"x\"]\n}\n");
  CHECK(tree.place == Place{"a.json", 1, 1});
  CHECK(tree.find("a")->place.line == 2);
  CHECK(tree.find("b")->place.line == 3);
  CHECK(tree.find("b")->items[0].place.line == 4);
  CHECK(tree.find("b")->items[1].place.line == 6);
}

TEST_CASE("integers of 64 bits keep every digit") {
  CHECK(json("[9007199254740993]").items[0].scalar == "9007199254740993");
  CHECK(json("[-9223372036854775808]").items[0].scalar == "-9223372036854775808");
}

TEST_CASE("duplicate keys are refused at the second") {
  CHECK(has(refusal("{\"a\": 1,\n\"a\": 2}"), "a.json:2:1: the key \"a\" appears twice"));
  CHECK(json(R"({"a": {"a": 1}})").find("a")->find("a")->scalar == "1");
}

TEST_CASE("nesting is limited to 64 levels") {
  CHECK(json(std::string(64, '[') + std::string(64, ']')).kind == Tree::Kind::list);
  CHECK(has(refusal(std::string(65, '[') + std::string(65, ']')), "nested deeper than 64 levels"));
  CHECK(has(refusal(std::string(5'000'000, '[')), "nested deeper than 64 levels"));
}

TEST_CASE("what is no JSON is refused with its line, in one line") {
  CHECK(has(refusal("{\n\"a\": 1,\n}"), "a.json:3: not JSON: "));
  for (const char* text :
       {"",           " ",    "{",    "[1",   "\"a",  "{} {}",   "[1] x",     "{'a': 1}",      "// c\n{}",   "[NaN]",
        "[Infinity]", "[01]", "[+1]", "[.5]", "[1.]", "[1e999]", "[\"\\x\"]", "[\"\\ud800\"]", "[\"a\nb\"]", "nul"}) {
    CAPTURE(text);
    const std::string message = refusal(text);
    CHECK(has(message, "a.json:"));
    CHECK(has(message, "not JSON: "));
    CHECK_FALSE(has(message, "json.exception"));
    CHECK_FALSE(has(message, "syntax error"));
    CHECK(message.find('\n') == std::string::npos);
  }
}

TEST_CASE("what is no JSON is told in our own words, with a way out") {
  CHECK(has(refusal("{\"a\": "), "not JSON: the text ends before its document does. Close the brackets"));
  CHECK(has(refusal("[1] x"), "\" after the end of the document. Write one document"));
  CHECK(has(refusal("[nul]"), "is no value. Write a number, true"));
  CHECK(has(refusal("[1e999]"), "not JSON: the number \"1e999\" is too large"));
  CHECK(has(refusal("[\"a\nb\"]"), "not JSON: a text holds a line end or a control character"));
  CHECK(has(refusal("[\"a"), "not JSON: a text is not closed"));
  CHECK(has(refusal("{\"a\": 1,}"), "where something else is due. Look for a bracket, a comma"));
}

TEST_CASE("binary and NUL are refused") {
  CHECK(has(refusal("{\n\"a\": \"\xff\"}"), "a.json:2: binary, not text"));
  CHECK(has(refusal("[\"\\u0000\"]"), "NUL character"));
}

TEST_CASE("a document of too many values is refused" * doctest::test_suite("long")) {
  std::string text = "[1";
  for (int i = 0; i < 5'000'000; ++i) text += ",1";
  CHECK(has(refusal(text + "]"), "over 5,000,000 values"));
}

TEST_CASE("random text is refused or read, never more") {
  Rng rng(5);
  const std::string alphabet = "[]{}:,\"\\ -+.eE019tfn\nau";
  for (int round = 0; round < 3000; ++round) {
    std::string text = "[";
    for (std::uint64_t n = rng.below(20); n > 0; --n) text += alphabet[rng.below(alphabet.size())];
    const std::string message = refusal(text);
    CAPTURE(text);
    REQUIRE((message.empty() || has(message, "a.json:")));
  }
}

TEST_CASE("a file that cannot be read is named") {
  CHECK(has(error_of([] { read_json_file("no/such/plan.json"); }), "no/such/plan.json: cannot read it"));
}

}  // namespace shardsim::json_test
