#include <doctest/doctest.h>

#include "base/text.h"
#include "tests/base/error_text.h"
#include "validate/execute/meet/launch.h"

using namespace shardsim;

namespace {

const Place kPlace = {"environment variable LIST", 0, 0};

std::string nodes(std::string_view text) {
  return join(expand_node_list(text, kPlace), " ");
}

}  // namespace

TEST_CASE("Slurm's short list of nodes, written out") {
  CHECK(nodes("node1") == "node1");
  CHECK(nodes("gpu[01-04,07],x1") == "gpu01 gpu02 gpu03 gpu04 gpu07 x1");
  CHECK(nodes("n[8-11]") == "n8 n9 n10 n11");
  CHECK(nodes("r[1-2]n[01-02]-ib") == "r1n01-ib r1n02-ib r2n01-ib r2n02-ib");
}

TEST_CASE("tasks on each node, written out") {
  CHECK(expand_tasks_per_node("4(x2),3", kPlace) == std::vector<int>{4, 4, 3});
  CHECK(expand_tasks_per_node("8", kPlace) == std::vector<int>{8});
}

TEST_CASE("what is no list is refused") {
  for (const char* text : {"", "a,,b", "gpu[1-", "gpu[]", "gpu[b-c]", "gpu[4-1]", "gpu[1-2", "gpu1-2]", "g[0-9999999]",
                           "g[0-9999]h[0-9999]"}) {
    CAPTURE(text);
    CHECK(shardsim::error_of([&] { expand_node_list(text, kPlace); }).starts_with(kPlace.source));
  }
  for (const char* text : {"", "x", "4(x", "4(x2", "4(x-1)", "-1", "4(x9999999)"}) {
    CAPTURE(text);
    CHECK(shardsim::error_of([&] { expand_tasks_per_node(text, kPlace); }).starts_with(kPlace.source));
  }
}
