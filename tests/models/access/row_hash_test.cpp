#include "models/access/row_hash.h"

#include <doctest/doctest.h>

#include <numeric>
#include <set>
#include <stdexcept>
#include <vector>

#include "base/rng.h"

namespace shardsim::row_hash_test {

// Expected values: worked example of hash "feistel_splitmix/1" in docs/formats/plan.md (name `history`, seed 7).

TEST_CASE("the hash of the worked example comes out") {
  CHECK(mix(0, 0) == 0);
  CHECK(mix(1, 0) == 0x5692161d100b05e5ULL);
  CHECK(fnv1a("history") == 0x33428945bbd5f2ffULL);
  CHECK(hash_key("history", 7, 1) == 0xcaab253de288a1ccULL);
  CHECK(hash_key("history", 7, 2) == 0x3462624dadc9a731ULL);
  CHECK(hash_key("history", 7, 3) == 0x213ef8ce73e2109dULL);
  CHECK(hash_key("history", 7, 4) == 0xd356b0a4af34d676ULL);
}

TEST_CASE("positions map to the row ids of the worked example") {
  const std::vector<std::uint64_t> expected = {0, 3, 6, 2, 7, 9, 8, 1, 5, 4};
  for (std::uint64_t i = 0; i < 10; ++i) CHECK(row_id("history", 7, i, 10) == expected[i]);
  CHECK(row_id("history", 7, 0, 30'000'000) == 15909733);
  CHECK(row_id("history", 7, 1, 30'000'000) == 28247149);
  CHECK(row_id("history", 7, 2, 30'000'000) == 19378253);
  CHECK(row_id("history", 7, 29'999'999, 30'000'000) == 13075898);
  CHECK(row_id("history", 7, 0, 8000) == 1681);
  CHECK(row_id("history", 7, 1, 8000) == 3574);
  CHECK(row_id("history", 7, 2, 8000) == 1183);
  CHECK(row_id("history", 7, 7999, 8000) == 2523);
}

TEST_CASE("rows of a tier fall to the shards of the worked example") {
  const std::uint64_t key = hash_key("history", 7, 4);
  CHECK(permute(0, 7136, key) == 4969);
  CHECK(permute(1, 7136, key) == 1362);
  CHECK(permute(2, 7136, key) == 1813);
  CHECK(owner_of(0, 7136, 8, key) == RowOwner{5, 4969 - 5 * 892});
  CHECK(owner_of(1, 7136, 8, key) == RowOwner{1, 1362 - 892});
  CHECK(owner_of(2, 7136, 8, key) == RowOwner{2, 1813 - 2 * 892});
}

TEST_CASE("the hash is a bijection of any range") {
  for (const std::uint64_t n : {1, 2, 3, 4, 5, 16, 17, 255, 1000}) {
    std::set<std::uint64_t> images;
    for (std::uint64_t i = 0; i < n; ++i) {
      const std::uint64_t image = permute(i, n, hash_key("t", n, 1));
      CHECK(image < n);
      CHECK(unpermute(image, n, hash_key("t", n, 1)) == i);
      images.insert(image);
    }
    CHECK(images.size() == n);
  }
  std::vector<std::uint64_t> all(1000);
  std::iota(all.begin(), all.end(), 0);
  permute_all(all, 1000, 5);
  for (std::uint64_t i = 0; i < 1000; ++i) CHECK(all[i] == permute(i, 1000, 5));
  all.back() = 1000;
  CHECK_THROWS_AS(permute_all(all, 1000, 5), std::out_of_range);
  CHECK_THROWS_AS(permute(7, 7, 1), std::out_of_range);
  CHECK_THROWS_AS(permute(0, 0, 1), std::out_of_range);
}

TEST_CASE("many positions at once are permuted as each by itself, few of many rows and all of few") {
  for (const std::uint64_t n : {1ULL, 7ULL, 9'000ULL, 70'001ULL, 1'000'000'007ULL}) {
    for (const std::uint64_t count : {1ULL, 100ULL, 4'097ULL, 50'000ULL}) {
      std::vector<std::uint64_t> all(std::min(n, count));
      for (std::size_t i = 0; i < all.size(); ++i) all[i] = n - 1 - i;
      const std::vector<std::uint64_t> positions = all;
      permute_all(all, n, 77);
      for (std::size_t i = 0; i < all.size(); ++i) REQUIRE(all[i] == permute(positions[i], n, 77));
    }
  }
}

TEST_CASE("the first positions are permuted as each by itself, in their order") {
  for (const std::uint64_t n : {1ULL, 9'000ULL, 70'001ULL, 1'000'000'007ULL}) {
    for (const std::uint64_t count : {0ULL, 1ULL, 4'096ULL, 9'000ULL}) {
      std::uint64_t next = 0;
      permute_first(std::min(n, count), n, 77, [&](std::span<const std::uint64_t> numbers) {
        for (const std::uint64_t number : numbers) REQUIRE(number == permute(next++, n, 77));
      });
      CHECK(next == std::min(n, count));
    }
  }
  CHECK_THROWS_AS(permute_first(8, 7, 1, {}), std::out_of_range);
}

TEST_CASE("every shard of an uneven tier gets its rows, each local row once") {
  const std::uint64_t key = hash_key("t", 1, 2);
  std::set<std::pair<int, std::uint64_t>> places;
  std::vector<int> rows_of_shard(8, 0);
  for (std::uint64_t i = 0; i < 83; ++i) {
    const RowOwner owner = owner_of(i, 83, 8, key);
    places.insert({owner.shard, owner.local_row});
    ++rows_of_shard.at(static_cast<std::size_t>(owner.shard));
  }
  CHECK(places.size() == 83);
  CHECK(rows_of_shard == std::vector<int>{11, 11, 11, 10, 10, 10, 10, 10});  // 83 = 3 * 11 + 5 * 10
}

}  // namespace shardsim::row_hash_test
