#include <doctest/doctest.h>

#include "tests/base/error_text.h"
#include "validate/execute/meet/launch.h"

namespace shardsim::node_list_test {

namespace {

const Place kPlace = {"environment variable LIST", 0, 0};

std::string first(std::string_view text) {
  return first_node(text, kPlace);
}

}  // namespace

TEST_CASE("the first of Slurm's short list of nodes") {
  CHECK(first("node1") == "node1");
  CHECK(first("gpu[01-04,07],x1") == "gpu01");
  CHECK(first("n[8-11]") == "n8");
  CHECK(first("r[1-2]n[01-02]-ib") == "r1n01-ib");
  CHECK(first("g[0-9999999]") == "g0");
  CHECK(first("g[3-9999]h[0-9999]") == "g3h0");
}

TEST_CASE("tasks on each node, written out") {
  CHECK(expand_tasks_per_node("4(x2),3", kPlace) == std::vector<int>{4, 4, 3});
  CHECK(expand_tasks_per_node("8", kPlace) == std::vector<int>{8});
}

TEST_CASE("what is no list is refused") {
  for (const char* text : {"", "a,,b", "gpu[1-", "gpu[]", "gpu[b-c]", "gpu[4-1]", "gpu[1-2", "gpu1-2]", "a,gpu[2-1]"}) {
    CAPTURE(text);
    CHECK(shardsim::error_of([&] { first_node(text, kPlace); }).starts_with(kPlace.source));
  }
  for (const char* text : {"", "x", "4(x", "4(x2", "4(x-1)", "-1", "4(x9999999)"}) {
    CAPTURE(text);
    CHECK(shardsim::error_of([&] { expand_tasks_per_node(text, kPlace); }).starts_with(kPlace.source));
  }
}

}  // namespace shardsim::node_list_test
