#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "models/learned/label_sets.h"
#include "tests/base/error_text.h"
#include "tests/models/learned/small_pool.h"

namespace shardsim::draw_test {
namespace {

double bytes_of(const ShardSet& set, const Shard& shard) {
  double bytes = 0;
  for (const ShardPiece& piece : shard)
    bytes += 4.0 * static_cast<double>(set.workload.tables[static_cast<std::size_t>(piece.table)].rows) *
             static_cast<double>(piece.columns);
  return bytes;
}

}  // namespace

TEST_CASE("shards: numbers of tables and columns are uniform where every draw fits") {
  ShardLaw law;
  law.count = 6000;
  const ShardSet set = draw_shards(small_pool(), 1024, law);
  std::map<std::size_t, int> sizes;
  std::map<std::int64_t, int> columns;
  int pieces = 0;
  for (const Shard& shard : set.shards) {
    ++sizes[shard.size()];
    for (const ShardPiece& piece : shard) ++columns[piece.columns], ++pieces;
  }
  CHECK(sizes.size() == 15);
  for (const auto& [size, count] : sizes) CHECK(count == doctest::Approx(400).epsilon(0.2));  // 4 deviations
  CHECK(columns.size() == 6);                                                                 // 4 to 128
  for (const auto& [dim, count] : columns) CHECK(count == doctest::Approx(pieces / 6.0).epsilon(0.05));
}

TEST_CASE("shards: rows fit, same seed same shards, one table at most and one width") {
  ShardLaw law;
  law.count = 500;
  law.max_bytes = 400'000'000;  // of up to 15 x 205 MB
  const ShardSet set = draw_shards(small_pool(), 1024, law);
  double most = 0;
  for (const Shard& shard : set.shards) most = std::max(most, bytes_of(set, shard));
  CHECK(most <= 4e8);
  CHECK(most > 3e8);
  CHECK(draw_shards(small_pool(), 1024, law).shards == set.shards);
  law.seed = 2;
  CHECK(draw_shards(small_pool(), 1024, law).shards != set.shards);
  law.max_tables = 1;
  law.max_dim = 4;
  for (const Shard& shard : draw_shards(small_pool(), 1024, law).shards) {
    CHECK(shard.size() == 1);
    CHECK(shard.front().columns == 4);
  }
}

TEST_CASE("shards: what cannot be drawn") {
  ShardLaw law;
  law.count = 1;
  law.max_bytes = 1000;
  CHECK(has(error_of([&] { draw_shards(small_pool(), 1024, law); }), "fits in 1000 B"));
  law.max_dim = 48;
  CHECK(has(error_of([&] { draw_shards(small_pool(), 1024, law); }), "48 columns are not one of 4, 8, 16"));
  Workload mixed = small_pool();
  mixed.tables[3].dtype = Dtype::fp16;
  CHECK(has(error_of([&] { draw_shards(mixed, 1024, {}); }), "'t3' is of fp16, the first one of fp32"));
}

TEST_CASE("exchanges: starts are whole ms from 0 to 18, columns are those of 10 to 59 tables") {
  const ExchangeSet set = draw_exchanges(65536, {4000, 4, 128, 1});
  double latest = 0, least = 1e9, most = 0;
  for (const Exchange& exchange : set.exchanges) {
    CHECK(*std::ranges::min_element(exchange.starts_ms) == 0);
    latest = std::max(latest, *std::ranges::max_element(exchange.starts_ms));
    for (const double start : exchange.starts_ms) CHECK(start == static_cast<int>(start));
    const double sum = std::accumulate(exchange.columns.begin(), exchange.columns.end(), 0.0);
    least = std::min(least, sum);
    most = std::max(most, sum);
  }
  CHECK(latest == 18);
  CHECK(least >= 40);   // 10 tables of 4 columns
  CHECK(most <= 7552);  // 59 of 128
  CHECK(most > 2500);   // 59 tables have 42 on average
  CHECK(has(error_of([] { draw_exchanges(65536, {1, 129, 128, 1}); }), "of 2 to 128 ranks, not of 129"));
  CHECK(has(error_of([] { draw_exchanges(65536, {1, 1, 128, 1}); }), "of 2 to 128 ranks, not of 1"));
}

TEST_CASE("exchanges: tables by ranks as published of 4 and 8") {
  for (const int ranks : {2, 8, 64}) {
    double least = 1e9, most = 0;
    for (const Exchange& exchange : draw_exchanges(65536, {2000, ranks, 4, 1}).exchanges) {
      REQUIRE(exchange.columns.size() == static_cast<std::size_t>(ranks));
      const double tables = std::accumulate(exchange.columns.begin(), exchange.columns.end(), 0.0) / 4;
      least = std::min(least, tables);
      most = std::max(most, tables);
    }
    CHECK(least >= 2.5 * ranks);
    CHECK(most <= 15 * ranks - 1);
    CHECK(most > 14 * ranks);
  }
}

TEST_CASE("shapes: the order of a shard's tables does not matter, a third is held back") {
  CHECK(shape_of(Shard{{3, 64}, {1, 8}}) == shape_of(Shard{{1, 8}, {3, 64}}));
  CHECK(shape_of(Shard{{3, 64}}) != shape_of(Shard{{3, 8}}));
  ShardLaw law;
  law.count = 3000;
  int held = 0;
  for (const Shard& shard : draw_shards(small_pool(), 1024, law).shards) held += held_back(shape_of(shard)) ? 1 : 0;
  CHECK(held == doctest::Approx(1000).epsilon(0.1));
}

}  // namespace shardsim::draw_test
