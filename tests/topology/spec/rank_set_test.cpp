#include "topology/spec/rank_set.h"

#include <doctest/doctest.h>

#include "tests/topology/cluster_files.h"

namespace shardsim::rank_set_test {

using namespace shardsim::testing;

namespace {

using Ranks = std::vector<int>;

Ranks read(const std::string& text, int world = 32) {
  return read_rank_set(parse_yaml_value(text, {"test.yaml", 7, 3}), world);
}

}  // namespace

TEST_CASE("rank sets are lists or progressions") {
  CHECK(read("[4, 2, 9]") == Ranks{4, 2, 9});
  CHECK(read("\"0-3\"") == Ranks{0, 1, 2, 3});
  CHECK(read("\"3-27:8\"") == Ranks{3, 11, 19, 27});
  CHECK(read("\"5\"") == Ranks{5});
  CHECK(read("\"0-31\"").size() == 32);
}

TEST_CASE("the text of a rank set reads back as the same ranks") {
  for (const Ranks& ranks : {Ranks{5}, Ranks{0, 1, 2, 3}, Ranks{3, 11, 19, 27}, Ranks{30, 31}, Ranks{1, 4}}) {
    CHECK(read("\"" + rank_set_text(ranks) + "\"") == ranks);
  }
  CHECK(rank_set_text({3, 11, 19, 27}) == "3-27:8");
  CHECK(rank_set_text({4, 2, 9}).empty());
  CHECK(rank_set_text({3, 2, 1}).empty());
  CHECK(rank_set_text({}).empty());
}

TEST_CASE("wrong rank sets are refused with their place") {
  const auto error = [](const std::string& text) { return error_of([&] { read(text); }); };
  CHECK(error("\"0-32\"").find("test.yaml:7:3: rank 32 is outside the world of 32 ranks") == 0);
  CHECK(error("[1, 2, 1]").find("rank 1 is named twice") != std::string::npos);
  for (const char* text : {"[]", "\"\"", "\"-\"", "\"1-\"", "\"-1\"", "\"3-1\"", "\"0-8:3\"", "\"0-8:0\"", "\"0-8:\"",
                           "\"5:1\"", "\"0-1-2\"", "\"0-8:2:2\"", "\"a\"", "[32]", "[-1]", "[1.5]", "{a: 1}",
                           "\"0-99999999999999999999\"", "[[0]]"}) {
    CAPTURE(text);
    CHECK(error(text).find("test.yaml:7:3: ") == 0);
  }
}

}  // namespace shardsim::rank_set_test
