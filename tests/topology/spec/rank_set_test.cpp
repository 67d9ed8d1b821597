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

TEST_CASE("any list of ranks has a text of rank sets, which reads back as the list") {
  CHECK(rank_sets_text({}).empty());
  CHECK(rank_sets_text({7}) == "7");
  CHECK(rank_sets_text({0, 1, 2, 3, 8, 16, 24, 5}) == "0-3,8-24:8,5");
  CHECK(rank_sets_text({4, 5, 9, 2}) == "4,5,9,2");
  CHECK(rank_sets_text({8, 9, 10, 0, 1, 2}) == "8-10,0-2");
  const std::vector<Ranks> lists = {
      {3}, {3, 1}, {0, 2, 4, 1, 3, 5}, {9, 8, 7}, {0, 1, 3, 6, 10, 15}, {0, 4, 8, 9, 10, 11}};
  for (const Ranks& ranks : lists) {
    const std::string text = rank_sets_text(ranks);
    CAPTURE(text);
    CHECK(read_rank_sets(text, 16, {}) == ranks);
    CHECK(count_in_rank_sets(text, 16, {}) == ranks.size());
  }
}

TEST_CASE("a text of rank sets names ranks of the world, each once") {
  const Place place{"test.json", 7, 0};
  for (const char* const text : {"", "0-3,", "0-3,2", "1,1", "0-32", "5-3", "0-6:4", "a", "0 - 3", "-1"}) {
    CAPTURE(text);
    CHECK(error_of([&] { read_rank_sets(text, 32, place); }).find("test.json:7: ") == 0);
  }
  CHECK(count_in_rank_sets("0-99999,0-99999", 100'000, place) == 200'000);  // which no list is made for
}

}  // namespace shardsim::rank_set_test
