#include "base/tree/tree_editor.h"

#include <doctest/doctest.h>

#include "base/tree/yaml.h"
#include "tests/base/error_text.h"

namespace shardsim::tree_editor_test {

namespace {

Tree yaml(const std::string& text) {
  return parse_yaml(text, "test.yaml");
}

}  // namespace

TEST_CASE("edits that follow each other give what each of them gives alone") {
  Tree at_once = yaml("w: {tables: [{name: a, rows: 1}, {name: b.c, rows: 2}, {name: d, rows: 3}]}");
  Tree one_by_one = at_once;
  TreeEditor editor(at_once);
  for (const auto& [path, value] : {std::pair{"w.tables.a.rows", "10"},
                                    {"w.tables.b.c.rows", "20"},
                                    {"w.tables.2.rows", "30"},
                                    {"w.tables.d.dim", "4"},
                                    {"w.batch", "5"},
                                    {"new.map.key", "6"}}) {
    editor.set(path, text_tree(value));
    set_path(one_by_one, path, text_tree(value));
  }
  CHECK(at_once == one_by_one);
  CHECK(at_once.find("w")->find("tables")->items[1].find("rows")->scalar == "20");
}

TEST_CASE("items are found by the names that they have now") {
  Tree tree = yaml("tables: [{name: a, rows: 1}, {name: b, rows: 2}]");
  TreeEditor editor(tree);
  editor.set("tables.a.rows", text_tree("10"));
  editor.set("tables.a.name", text_tree("c"));
  CHECK(has(error_of([&] { editor.set("tables.a.rows", text_tree("11")); }), "\"a\" is no item of a list of 2"));
  editor.set("tables.c.rows", text_tree("12"));
  editor.set("tables.1", yaml("name: e"));
  editor.set("tables.e.rows", text_tree("13"));
  CHECK(tree == yaml("tables: [{name: c, rows: 12}, {name: e, rows: 13}]"));
  editor.set("tables", yaml("all: [{name: c, rows: 1}]"));
  CHECK(has(error_of([&] { editor.set("tables.all.e.rows", text_tree("1")); }), "no item of a list of 1"));
  editor.set("tables.all.c.rows", text_tree("2"));
  CHECK(tree == yaml("tables: {all: [{name: c, rows: 2}]}"));
}

TEST_CASE("lists inside of items are told apart, however the items are addressed") {
  Tree tree = yaml("l: [{name: a, in: [{name: x, n: 1}]}, {name: b, in: [{name: y, n: 2}, {name: x, n: 3}]}]");
  TreeEditor editor(tree);
  editor.set("l.a.in.x.n", text_tree("4"));
  editor.set("l.1.in.x.n", text_tree("5"));
  editor.set("l.0.in", parse_yaml_value("[{name: z}, {name: x}]", {"test"}));
  editor.set("l.a.in.x.n", text_tree("6"));
  CHECK(tree == yaml("l: [{name: a, in: [{name: z}, {name: x, n: 6}]}, "
                     "{name: b, in: [{name: y, n: 2}, {name: x, n: 5}]}]"));
}

TEST_CASE("an edit that is refused changes nothing, and the next one is right") {
  Tree tree = yaml("a: {b: 1}\nt: [{name: x}, {name: x}]");
  const Tree before = tree;
  TreeEditor editor(tree);
  CHECK_THROWS_AS(editor.set("a.c.d.", text_tree("1")), Error);
  CHECK(has(error_of([&] { editor.set("t.x.rows", text_tree("1")); }), "several items are named \"x\""));
  CHECK(tree == before);
  editor.set("a.c", text_tree("2"));
  CHECK(tree == yaml("a: {b: 1, c: 2}\nt: [{name: x}, {name: x}]"));
}

TEST_CASE("every edit lies above all before it") {
  Tree tree = yaml("a: 1\nb: 2");
  TreeEditor editor(tree);
  editor.set("a", text_tree("3"));
  editor.set("b", text_tree("4"));
  CHECK(tree.find("a")->layer == 1);
  CHECK(tree.find("b")->layer == 2);
}

}  // namespace shardsim::tree_editor_test
