#include "base/tree/yaml.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "base/rng.h"
#include "base/tree/map_reader.h"
#include "base/tree/yaml_text.h"
#include "tests/base/error_text.h"

namespace shardsim::yaml_test {

namespace {

Tree yaml(const std::string& text) {
  return parse_yaml(text, "a.yaml");
}
std::string refusal(const std::string& text) {
  return error_of([&] { yaml(text); });
}

std::string repeated(const std::string& part, std::size_t times) {
  std::string text;
  for (std::size_t i = 0; i < times; ++i) text += part;
  return text;
}

std::string nested_value(int levels) {
  return "a: " + repeated("[", static_cast<std::size_t>(levels)) + repeated("]", static_cast<std::size_t>(levels));
}

}  // namespace

TEST_CASE("maps, lists, texts and nothing become a tree in file order") {
  const Tree tree = yaml("b: 1\na: [x, \"y\", {c: ~}]\nd:\n");
  REQUIRE(tree.kind == Tree::Kind::map);
  REQUIRE(tree.fields.size() == 3);
  CHECK(tree.fields[0].first == "b");
  CHECK(tree.fields[0].second.scalar == "1");
  const Tree& list = tree.fields[1].second;
  REQUIRE(list.kind == Tree::Kind::list);
  REQUIRE(list.items.size() == 3);
  CHECK_FALSE(list.items[0].quoted);
  CHECK(list.items[1].quoted);
  CHECK(list.items[1].scalar == "y");
  CHECK(list.items[2].find("c")->kind == Tree::Kind::null);
  CHECK(tree.fields[2].second.kind == Tree::Kind::null);
}

TEST_CASE("places count from 1, for values and for keys") {
  const Tree tree = yaml("a: 1\nb:\n  c: [x, yy]\n");
  const Tree& list = *tree.find("b")->find("c");
  CHECK(tree.find("a")->place == Place{"a.yaml", 1, 4});
  CHECK(list.place == Place{"a.yaml", 3, 6});
  CHECK(list.items[1].place == Place{"a.yaml", 3, 10});
  CHECK(list.key_line == 3);
  CHECK(list.key_column == 3);
}

TEST_CASE("a quote that is not closed is refused where it opens, however the file ends") {
  for (const std::string quote : {"\"", "'"}) {
    for (const std::string end : {"", "\n", "\r\n", "\nb: 2\n", "\n\n# a remark\n"}) {
      CHECK(refusal("a: 1\ntitle: " + quote + "abc" + end).starts_with("a.yaml:"));
    }
    CHECK(
        refusal("a: 1\ntitle: " + quote + "abc\nb: 2\n").starts_with("a.yaml:2:8: the quote of a text is not closed"));
    CHECK(refusal("\xef\xbb\xbf"
                  "a: 1\ntitle: &x " +
                  quote + "abc\n")
              .starts_with("a.yaml:2:8: the quote"));
    CHECK(refusal("a: " + quote + "abc\n").starts_with("a.yaml:1:4: the quote"));
    CHECK(yaml("\xef\xbb\xbf"
               "a: \xc3\xa4\nb: &x " +
               quote + "c" + quote + "\n")
              .find("b")
              ->scalar == "c");
  }
  CHECK(yaml("a: 'it''s'\n").find("a")->scalar == "it's");
  CHECK(yaml("a: \"5\\\" disk\"\nb: it's\n").find("a")->scalar == "5\" disk");
  CHECK(yaml("a: \"b\"\nc: |\n  d \"e\n").find("c")->scalar == "d \"e\n");
  CHECK(yaml("a: ! b\n").find("a")->scalar == "b");
}

// The traps of YAML, one by one (docs/formats/conventions.md, "Traps of YAML").
TEST_CASE("trap: a duplicate key is refused at the second") {
  CHECK(has(refusal("a: 1\nb: 2\na: 3\n"), "a.yaml:3:1: the key \"a\" appears twice"));
  CHECK(has(refusal("m: {a: 1, a: 1}"), "appears twice"));
}

TEST_CASE("trap: both spellings of one key are duplicates, and hyphens read as underscores") {
  CHECK(yaml("compute-model: x").find("compute_model") != nullptr);
  CHECK(has(refusal("compute-model: x\ncompute_model: y"), "a.yaml:2:1: the key \"compute_model\" appears twice"));
}

TEST_CASE("keys in quotes may be names, which keep their hyphens") {
  const Tree tree = yaml("\"a-b\": 1\n'a_b': 2\na-c: 3");
  CHECK(tree.find("a-b") != nullptr);
  CHECK(tree.find("a_b") != nullptr);
  CHECK(tree.find("a_c") != nullptr);
}

TEST_CASE("trap: no, yes, on and off are texts, not booleans") {
  for (const char* word : {"no", "yes", "on", "off", "No", "TRUE"}) {
    CAPTURE(word);
    const Tree tree = yaml(std::string("a: ") + word);
    CHECK(MapReader(tree, "").text("a") == word);
    CHECK(has(error_of([&] { MapReader(tree, "").flag("a", true); }), "neither true nor false"));
  }
}

TEST_CASE("trap: 010, 0x10, .inf and underscores are no numbers; 1e6 is a count") {
  for (const char* number : {"010", "0x10", ".inf", "1_000", "0o10"}) {
    CAPTURE(number);
    const Tree tree = yaml(std::string("a: ") + number);
    CHECK_THROWS_AS(MapReader(tree, "").count("a"), Error);
    CHECK_THROWS_AS(MapReader(tree, "").real("a"), Error);
  }
  const Tree tree = yaml("a: 1e6");
  CHECK(MapReader(tree, "").count("a") == 1'000'000);
}

TEST_CASE("trap: an unknown key is refused with the nearest known one") {
  const Tree tree = yaml("rate: x\nlatnecy: y");
  MapReader reader(tree, "");
  reader.text("rate");
  reader.text("latency", "");
  CHECK(has(error_of([&] { reader.finish(); }), "a.yaml:2:1: unknown key \"latnecy\". Did you mean 'latency'?"));
}

TEST_CASE("trap: a value cannot contain itself") {
  CHECK(has(refusal("a: &x [*x]"), "a.yaml:1:8: an alias stands for a key, or for the value that contains it"));
  CHECK(has(refusal("a: &x {b: [1, *x]}"), "the value that contains it"));
}

TEST_CASE("trap: aliases expand to 10,000 values and no more") {
  const std::string list = "a: &x [" + repeated("1,", 998) + "1]\n";  // 1,000 values with the list itself
  CHECK(yaml(list + "b: [" + repeated("*x,", 10) + "]").find("b")->items.size() == 10);
  CHECK(has(refusal(list + "b: [" + repeated("*x,", 11) + "]"), "over 10,000 values"));
  std::string bomb = "a: &a [1,1,1,1,1,1,1,1,1]\n";
  for (char c = 'b'; c <= 'z'; ++c) {
    const std::string old = std::string("*") + static_cast<char>(c - 1);
    bomb += std::string(1, c) + ": &" + c + " [" + repeated(old + ",", 9) + "]\n";
  }
  CHECK(has(refusal(bomb), "over 10,000 values"));
}

TEST_CASE("an alias reads as the value it stands for") {
  CHECK(yaml("a: &x {b: [1]}\nc: *x") == yaml("a: {b: [1]}\nc: {b: [1]}"));
  CHECK(has(refusal("a: *nope"), "a.yaml:1:4: not YAML"));
  CHECK(has(refusal("&k a: 1\nb: *k"), "an alias stands for a key"));
}

TEST_CASE("what is no YAML is told in our own words") {
  CHECK(has(refusal("a: *nope"), "not YAML: an alias of a name that no '&NAME' above gives"));
  CHECK(has(refusal("a: b: c"), "not YAML: a second ': ' on one line"));
  CHECK(has(refusal("a: [1\nb: 2"), "not YAML: a '[' that is not closed"));
  CHECK(has(refusal("a: \"x"), "not YAML: a quoted text is not closed"));
  CHECK(has(refusal("a: %x"), "not YAML: a character that begins no value"));
  CHECK(has(refusal("a: ]"), "not YAML: "));
}

TEST_CASE("trap: nesting is limited to 64 levels, also through aliases") {
  CHECK(yaml(nested_value(63)).find("a")->kind == Tree::Kind::list);  // the root map is the first level
  CHECK(has(refusal(nested_value(64)), "nested deeper than 64 levels"));
  CHECK(has(refusal("a: &x " + nested_value(40).substr(3) + "\nb: " + repeated("[", 30) + "*x" + repeated("]", 30)),
            "nested deeper than 64 levels"));
}

TEST_CASE("trap: deep nesting of any kind neither crashes nor hangs") {
  for (const char* part :
       {"[",    "{",   "[a, ", "{a: ", "a: [",   "- ",  "? ",  ": ",       "!",   "! ",  "!a ", "&a ",
        "&a [", "[\n", "{\n",  "- [",  "- {a: ", "[? ", "[: ", "\"a\": [", "*a ", "|\n", "'"}) {
    CAPTURE(part);
    CHECK(has(refusal(repeated(part, 100'000)), "a.yaml:"));
  }
  CHECK(has(refusal(repeated("[", 1000)), "nested too deeply, or not YAML"));
  std::string staircase;
  for (std::size_t i = 0; i < 1000; ++i) staircase += std::string(i, ' ') + "a:\n";
  CHECK(has(refusal(staircase), "nested deeper than 64 levels"));
}

TEST_CASE("trap: only one document, and it must hold a map") {
  CHECK(has(refusal("a: 1\n---\nb: 2\n"), "a.yaml:2:1: text after the end of the document, or a second one"));
  CHECK(yaml("---\na: 1\n...\n") == yaml("a: 1"));
  for (const char* empty : {"", "\n\n", "# only a comment\n", "---\n", "~"}) {
    CAPTURE(empty);
    CHECK(has(refusal(empty), "the file is empty"));
  }
  CHECK(has(refusal("- a\n- b"), "must hold a map, but holds a list"));
  CHECK(has(refusal("just words"), "must hold a map, but holds a text"));
}

TEST_CASE("trap: a missing key is found on entry") {
  const Tree tree = yaml("a: 1");
  CHECK(has(error_of([&] { MapReader(tree, "gpu").count("count"); }), "a.yaml:1:1: the key 'gpu.count' is missing"));
}

TEST_CASE("trap: merge keys are refused, with the way out") {
  CHECK(has(refusal("a: &x {b: 1}\nc:\n  <<: *x\n"), "a.yaml:3:3: the merge key '<<' is not supported. Use an alias"));
}

TEST_CASE("trap: tabs as indentation are refused with their line") {
  CHECK(has(refusal("a:\n\tb: 1\n"), "a.yaml:2:"));
}

TEST_CASE("keys are short plain texts") {
  CHECK(has(refusal("? [a]\n: 1"), "a key is not plain text"));
  CHECK(has(refusal(": 1"), "a key is not plain text"));
  CHECK(has(refusal("~: 1"), "a key is not plain text"));
  CHECK(has(refusal("\"\": 1"), "a key is not plain text"));
  CHECK(yaml(std::string(256, 'k') + ": 1").fields.size() == 1);
  CHECK(has(refusal(std::string(257, 'k') + ": 1"), "over 256 bytes"));
}

TEST_CASE("tags are refused") {
  CHECK(has(refusal("a: !!int 3"), "a.yaml:1:"));
  CHECK(has(refusal("a: !thing {}"), "the YAML tag"));
}

TEST_CASE("binary is refused where it begins") {
  CHECK(has(refusal(std::string("a: 1\nb: x\0y", 11)), "a.yaml:2:5: binary, not text"));
  CHECK(has(refusal("a: \xff\xfe"), "a.yaml:1:4: binary, not text"));
  CHECK(has(refusal("a: \"\\0\""), "NUL character"));
  CHECK(yaml("\xef\xbb\xbf"
             "a: \xc2\xb5\r\n")
            .find("a")
            ->scalar == "\xc2\xb5");
}

TEST_CASE("large files fail fast instead of filling memory") {
  const std::size_t kMany = 5'000'000;
  CHECK(has(refusal("a: [" + repeated("1,", kMany) + "1]"), "too many values"));
  CHECK(has(refusal(repeated("- a\n", kMany / 2)), "values in one file"));
  std::string wide;
  for (int i = 0; i < 10'001; ++i) wide += fmt::format("k{}: 1\n", i);
  CHECK(has(refusal(wide), "a.yaml:10001:1: a map with over 10,000 keys"));
  CHECK(has(refusal(std::string((std::size_t{64} << 20) + 1, ' ')), "over 64 MiB"));
}

TEST_CASE("random text is refused or read, never more") {
  Rng rng(3);
  const std::string alphabet = "[]{}:,-?!&*#|>'\"%@` \n\tab01~<";
  for (int round = 0; round < 3000; ++round) {
    std::string text = "a: ";
    for (std::uint64_t n = rng.below(40); n > 0; --n) text += alphabet[rng.below(alphabet.size())];
    CAPTURE(text);
    const std::string message = refusal(text);
    REQUIRE((message.empty() || has(message, "a.yaml")));
    REQUIRE(message.find('\n') == std::string::npos);
  }
}

TEST_CASE("a value of an argument is any YAML value, and has the argument as its place") {
  const Place place{"argument --set a"};
  CHECK(parse_yaml_value("8", place).scalar == "8");
  CHECK(parse_yaml_value("\"8\"", place).quoted);
  CHECK(parse_yaml_value("25 GB/s", place).scalar == "25 GB/s");
  CHECK(parse_yaml_value("[1, {b: 2}]", place).items[1].find("b")->place == place);
  CHECK(parse_yaml_value("", place).kind == Tree::Kind::null);
  CHECK(has(error_of([&] { parse_yaml_value("[1", place); }), "or a bracket is not closed"));
  CHECK(has(error_of([&] { parse_yaml_value("{a: 1, a: 2}", place); }), "argument --set a: the key \"a\""));
}

TEST_CASE("a file that cannot be read is named") {
  CHECK(has(error_of([] { read_yaml_file("no/such/file.yaml"); }), "no/such/file.yaml: cannot read it"));
}

TEST_CASE("a text in quotes is read as it was, whatever it holds") {
  for (const std::string text : {"plain", "a \"b\" \\ c", "e\x1b[2J\n\t\x7f", "\xc3\xa4", ""}) {
    CHECK(parse_yaml("a: " + in_yaml_quotes(text), "test.yaml").find("a")->scalar == text);
  }
}

}  // namespace shardsim::yaml_test
