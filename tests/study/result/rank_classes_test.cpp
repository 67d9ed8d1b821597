#include "study/result/rank_classes.h"

#include <doctest/doctest.h>

#include "base/error.h"
#include "study/result/result.h"
#include "tests/base/error_text.h"

namespace shardsim::rank_classes_test {
namespace {

using Texts = std::vector<std::string>;

std::string refusal(const Texts& texts) {
  return input_error_of([&] { RankClasses(texts, {"result.json", 12, 0}); });
}

// 32,768 ranks of the same memory but for one.
CaseResult large_case() {
  CaseResult result;
  result.memory_per_rank.assign(32'768, 100);
  result.memory_per_rank[777] = 101;
  return result;
}

}  // namespace

TEST_CASE("classes split until every list is the same within each") {
  RankClasses classes;
  classes.tell_apart(std::vector<double>{1, 1, 2, 1, 2, 2}, 4);
  CHECK(classes.texts() == Texts{"0,1,3", "2,4,5"});
  classes.tell_apart(std::vector<std::int64_t>{7, 8, 7, 7, 7, 7}, 4);
  CHECK(classes.texts() == Texts{"0,3", "1", "2,4,5"});
  CHECK(classes.by_class(std::vector<double>{1, 1, 2, 1, 2, 2}) == std::vector<double>{1, 1, 2});
  CHECK_FALSE(classes.by_class(std::vector<double>{1, 1, 2, 3, 2, 2}));
  CHECK(classes.by_rank(std::vector<double>{5, 6, 7}, {}) == std::vector<double>{5, 6, 7, 5, 7, 7});
}

TEST_CASE("a list that differs from rank to rank tells no ranks apart") {
  RankClasses classes;
  classes.tell_apart(std::vector<double>{1, 1, 2, 2}, 2);
  classes.tell_apart(std::vector<double>{1, 2, 3, 4}, 2);
  CHECK(classes.texts() == Texts{"0,1", "2,3"});
}

TEST_CASE("texts give the same classes again") {
  const Texts texts = {"0-4:2", "1", "3,5"};
  const RankClasses classes(texts, {});
  CHECK(classes.texts() == texts);
  CHECK(RankClasses(Texts{}, {}).size() == 0);
}

TEST_CASE("every rank is in one class, and every class has a number") {
  CHECK(refusal({"0-3", "3-5"}).find("result.json:12: rank 3 is in two classes") == 0);
  CHECK(refusal({"0-3", "5"}).find("a rank below it is in none") != std::string::npos);
  CHECK(refusal({"0-3", "x"}).find("result.json:12: ") == 0);
  CHECK(refusal({"0-100000"}).find("outside the world") != std::string::npos);
  CHECK_THROWS_AS(RankClasses(Texts{"0-3", "4"}, {}).by_rank(std::vector<double>{1}, {}), Error);
}

TEST_CASE("a rank that differs is a class by itself, however large the world") {
  CHECK(rank_classes(large_case()).texts() == Texts{"0-776,778-32767", "777"});
}

TEST_CASE("what is large is the lists together, not one of them") {
  CaseResult result;
  result.memory_per_rank.assign(1024, 100);
  CHECK_FALSE(is_large(result));
  CHECK(rank_classes(result).size() == 0);
  result.placements.resize(16);
  for (PlacementSummary& placement : result.placements) placement.ranks.resize(1024);
  CHECK(is_large(result));
  CHECK(rank_classes(result).texts() == Texts{"0-1023"});
  result.memory_per_rank.resize(256);
  CHECK_FALSE(is_large(result));
}

}  // namespace shardsim::rank_classes_test
