#include "base/tree/tree.h"

#include <doctest/doctest.h>

#include "base/tree/tree_editor.h"
#include "base/tree/yaml.h"
#include "tests/base/error_text.h"

namespace shardsim::tree_test {

namespace {

Tree yaml(const std::string& text) {
  return parse_yaml(text, "a.yaml");
}
Tree leaf(const std::string& text) {
  return parse_yaml_value(text, {"argument --set x"});
}

Tree with(const std::string& text, const std::string& path, const std::string& value) {
  Tree tree = yaml(text);
  set_path(tree, path, leaf(value));
  return tree;
}

}  // namespace

TEST_CASE("trees are equal by content, not by place") {
  CHECK(yaml("a: 1\nb: [x, y]") == yaml("\n\na:   1\nb: [x,\n y]"));
  CHECK_FALSE(yaml("a: 1") == yaml("a: 2"));
  CHECK_FALSE(yaml("a: 1") == yaml("a: \"1\""));
}

TEST_CASE("a path sets one leaf and leaves the rest") {
  CHECK(with("cluster: {nodes: 4, name: x}", "cluster.nodes", "8") == yaml("cluster: {nodes: 8, name: x}"));
  CHECK(with("cases: [{cut: a}, {cut: b}]", "cases.1.cut", "c") == yaml("cases: [{cut: a}, {cut: c}]"));
  CHECK(with("a: 1", "b.c", "2") == yaml("a: 1\nb: {c: 2}"));
  CHECK(with("a: {b_c: 1}", "a.b-c", "2") == yaml("a: {b_c: 2}"));
  CHECK(with("a: 1", "a", "[1, 2]") == yaml("a: [1, 2]"));
}

TEST_CASE("an item of a list is addressed by its number or its name") {
  const std::string text = "tables: [{name: history, rows: 1}, {name: item, rows: 2}]";
  const Tree changed = yaml("tables: [{name: history, rows: 1}, {name: item, rows: 3}]");
  CHECK(with(text, "tables.1.rows", "3") == changed);
  CHECK(with(text, "tables.item.rows", "3") == changed);
  const std::string wrong = error_of([&] { with(text, "tables.itm.rows", "3"); });
  CHECK(has(wrong, "no item of a list of 2"));
  CHECK(has(wrong, "Did you mean 'item'? Known: history, item"));
  CHECK(has(error_of([&] { with(text, "tables.2.rows", "3"); }), "Known: history, item"));
}

TEST_CASE("names with dots, names that are numbers, and names that several items have") {
  const std::string dots = "t: [{name: a, b: {x: 1}}, {name: a.b, x: 1}]";
  CHECK(with(dots, "t.a.b.x", "2") == yaml("t: [{name: a, b: {x: 1}}, {name: a.b, x: 2}]"));
  CHECK(with(dots, "t.0.b.x", "2") == yaml("t: [{name: a, b: {x: 2}}, {name: a.b, x: 1}]"));
  CHECK(with("t: [{name: 1, x: 1}, {name: 0, x: 1}]", "t.0.x", "2") == yaml("t: [{name: 1, x: 2}, {name: 0, x: 1}]"));
  const std::string twice = error_of([&] { with("t: [{name: a}, {name: b}, {name: a}]", "t.a.x", "1"); });
  CHECK(has(twice, "several items are named \"a\""));
  CHECK(has(twice, "Write the number of one: 0, 2"));
}

TEST_CASE("a value set by an argument has the argument as its place") {
  const Tree tree = with("a: {b: 1}", "a.b", "2");
  CHECK(tree.find("a")->find("b")->place.text() == "argument --set x");
}

TEST_CASE("setting the value of a sourced value replaces the whole: the old source does not speak for the new number") {
  const std::string text = "rate: {value: \"11 GB/s\", source: paper, fitted: true}";
  CHECK(with(text, "rate", "\"12 GB/s\"") == yaml("rate: \"12 GB/s\""));
  CHECK(with(text, "rate.value", "\"12 GB/s\"") == yaml("rate: \"12 GB/s\""));
  CHECK(has(error_of([&] { with(text, "rate.source", "me"); }), "written with its source"));
}

TEST_CASE("a path that leads nowhere is refused and changes nothing") {
  CHECK(has(error_of([] { with("a: x", "a.b", "1"); }), "inside the text \"x\""));
  CHECK(has(error_of([] { with("a: [1, 2]", "a.2", "1"); }), "no item of a list of 2"));
  CHECK(has(error_of([] { with("a: [1, 2]", "a.-1", "1"); }), "no item"));
  CHECK(has(error_of([] { with("a: [1, 2]", "a.99999999999999999999", "1"); }), "no item"));
  CHECK(has(error_of([] { with("a: 1", "a..b", "1"); }), "one part of the path is empty"));
  CHECK(has(error_of([] { with("a: {}", "a..b", "1"); }), "one part of the path is empty"));
  CHECK(has(error_of([] { with("a: 1", "", "1"); }), "one part of the path is empty"));
  std::string deep = "a";
  for (int i = 0; i < 100'000; ++i) deep += ".a";
  CHECK(has(error_of([&] { with("b: 1", deep, "1"); }), "more than 64 parts"));
  Tree tree = yaml("a: {b: 1}");
  CHECK_THROWS_AS(set_path(tree, "a.c.d.", leaf("1")), Error);
  CHECK(tree == yaml("a: {b: 1}"));
}

// docs/formats/conventions.md, "Where a value comes from": maps are merged key by key, lists and leaves are replaced.
TEST_CASE("merging joins maps and replaces lists, leaves and sourced values") {
  CHECK(merged(yaml("a: {x: 1, y: 2}\nb: [1, 2]\nc: 3"), yaml("a: {y: 5, z: 6}\nb: [9]")) ==
        yaml("a: {x: 1, y: 5, z: 6}\nb: [9]\nc: 3"));
  CHECK(merged(yaml("a: {value: 1, source: s}"), yaml("a: {value: 2}")) == yaml("a: {value: 2}"));
  CHECK(merged(yaml("a: {x: 1}"), yaml("a: text")) == yaml("a: text"));
}

TEST_CASE("what is merged or set lies above what was there") {
  Tree tree = merged(yaml("a: {x: 1, y: 2}"), yaml("a: {y: 5}"));
  const auto layer = [&](const char* key) { return top_layer(*tree.find("a")->find(key)); };
  CHECK(layer("x") == 0);
  CHECK(layer("y") == 1);
  set_path(tree, "a.x", leaf("7"));
  CHECK(layer("x") == 2);
  CHECK(layer("y") == 1);
  CHECK(top_layer(merged(yaml("b: 1"), tree)) == 3);
  CHECK(tree == yaml("a: {x: 7, y: 5}"));
}

}  // namespace shardsim::tree_test
