#include "plan/column_shards/column_search.h"

#include <doctest/doctest.h>

#include <set>

#include "tests/plan/column_shards/hand_costs.h"
#include "tests/plan/hand_context.h"

namespace shardsim::column_search_test {
namespace {

// Seconds of a piece: the table's lookups times (columns + 16), so that halves cost more than half.
struct Setting {
  Setting(std::vector<Table> tables, int ranks, const std::string& hbm = "40 GB")
      : cluster(test_cluster(1, ranks, hbm)),
        workload(workload_of(std::move(tables), 64)),
        shards(ranks,
               [this](const Placement& piece) {
                 const Table& table = workload.tables[static_cast<std::size_t>(piece.table)];
                 return table.average_length * static_cast<double>(piece.columns() + 16);
               }),
        kinds(workload, cluster, context, {}, &shards, &plans) {}

  std::vector<TablePiece> whole() {
    std::vector<TablePiece> pieces;
    for (std::uint32_t t = 0; t < workload.tables.size(); ++t) pieces.push_back({kinds.whole_table(t), t});
    return pieces;
  }

  ColumnSearch search(const ColumnSearchOptions& options) {
    return {kinds, shards, plans, slowness(cluster), static_cast<double>(cluster.memory_per_rank().count), options};
  }

  Cluster cluster;
  Workload workload;
  std::unique_ptr<MemoryModel> memory = weights_memory();
  HandContext context{*memory, 1};
  HandShards shards;
  HandPlans plans;
  PieceKinds kinds;
};

ColumnSearchOptions published() {
  ColumnSearchOptions options;
  options.extended = false;
  return options;
}

std::int64_t columns_of(const PieceList& list, std::uint32_t table, const PieceKinds& kinds) {
  std::int64_t columns = 0;
  for (const TablePiece& piece : list.pieces) columns += piece.table == table ? kinds[piece.kind].columns : 0;
  return columns;
}

}  // namespace

// neurosharder.py: a table is skipped if (dim / 2) % 4 is not 0.
TEST_CASE("halves are multiples of four columns") {
  Setting setting({pooled_table("a", 10, 4), pooled_table("b", 10, 8), pooled_table("c", 10, 12),
                   pooled_table("d", 10, 24), pooled_table("e", 10, 128), pooled_table("f", 10, 7)},
                  2);
  std::vector<bool> splits;
  for (const TablePiece& piece : setting.whole()) splits.push_back(setting.kinds[piece.kind].splits);
  CHECK(splits == std::vector<bool>{false, true, false, true, true, false});
  const int half = setting.kinds.half_of(setting.kinds.whole_table(3));
  CHECK(setting.kinds[half].columns == 12);
  CHECK_FALSE(setting.kinds[half].splits);
}

TEST_CASE("tables that differ in their names alone are of one kind, others are not") {
  Setting setting({pooled_table("a", 10, 64), pooled_table("b", 10, 64), pooled_table("c", 11, 64)}, 2);
  const std::vector<TablePiece> pieces = setting.whole();
  CHECK(pieces[0].kind == pieces[1].kind);
  CHECK(pieces[0].kind != pieces[2].kind);
  CHECK(setting.kinds[pieces[2].kind].bytes == 11 * 64 * 4);
}

TEST_CASE("pieces are dealt by falling seconds, of equal ones the later one first") {
  Setting setting({pooled_table("a", 10, 4, 2), pooled_table("b", 10, 4, 9), pooled_table("c", 11, 4, 2),
                   pooled_table("d", 12, 4, 5)},
                  2);
  ColumnSearch search = setting.search(published());
  const PieceList best = search.best(setting.whole(), {});
  CHECK(best.order == std::vector<std::uint32_t>{1, 3, 2, 0});
}

// One piece of 128 columns on two ranks: its halves take 80 each instead of 144.
TEST_CASE("a table is cut where that is quicker, and the unsplit list is a plan too") {
  Setting one({pooled_table("a", 10, 128)}, 2);
  ColumnSearchOptions options;
  options.grid.scales = 0;
  ColumnSearch search = one.search(options);
  const PieceList best = search.best(one.whole(), {});
  CHECK(best.seconds == 80);
  CHECK(best.rank_of == std::vector<std::uint16_t>{1, 0});  // the later half is dealt first
  CHECK(columns_of(best, 0, one.kinds) == 128);

  Setting two({pooled_table("a", 10, 128), pooled_table("b", 10, 128)}, 2);
  ColumnSearch again = two.search(options);
  CHECK(again.best(two.whole(), {}).pieces.size() == 2);
}

// 20 candidates of the one list, then of each of three lists in nine rounds; one search more for the unsplit list.
TEST_CASE("the work of the published settings: 561 searches and 6,171 passes") {
  std::vector<Table> tables;
  for (int i = 0; i < 20; ++i) {  // large ones, and costly ones
    tables.push_back(pooled_table("large" + std::to_string(i), 4'000'000 + 1000U * static_cast<unsigned>(i), 1 << 14));
  }
  for (int i = 0; i < 20; ++i) tables.push_back(pooled_table("costly" + std::to_string(i), 1000, 1 << 14, 100 + i));
  for (const bool caching : {true, false}) {
    Setting setting(tables, 4, "100 TB");
    ColumnSearchOptions options = published();
    options.grid.caching = caching;
    ColumnSearch search = setting.search(options);
    search.best(setting.whole(), {});
    CHECK(search.counts().searches == 561);
    CHECK(search.counts().passes == 6171);
    CHECK((search.counts().predictions < search.counts().asked / 5) == caching);
  }
}

TEST_CASE("with the cache and without it the search finds the same plan, to the bit" * doctest::test_suite("long")) {
  Rng rng(5);
  for (int round = 0; round < 10; ++round) {
    std::vector<Table> tables;
    for (int i = 0; i < 30; ++i) {
      tables.push_back(pooled_table("t" + std::to_string(i), 1000 + rng.below(1'000'000), 4 << rng.below(6),
                                    0.1 + 20 * rng.uniform()));
    }
    std::vector<PieceList> found;
    for (const bool caching : {true, false}) {
      Setting setting(tables, 4, "500 MB");
      ColumnSearchOptions options;
      options.extended = round % 2 == 0;
      options.grid.caching = caching;
      ColumnSearch search = setting.search(options);
      found.push_back(search.best(setting.whole(), {}));
    }
    CHECK(found[0].seconds == found[1].seconds);
    CHECK(found[0].rank_of == found[1].rank_of);
    CHECK(found[0].pieces.size() == found[1].pieces.size());
  }
}

TEST_CASE("memory that whole tables do not have is found by cuts, and bytes over say how much is missing") {
  // Three tables of 60 on two ranks of 100: one must be cut.
  const std::vector<Table> tables{pooled_table("a", 15'000, 1000, 3), pooled_table("b", 15'000, 1000, 2),
                                  pooled_table("c", 15'000, 1000, 1)};
  ColumnSearchOptions options;
  options.grid.scales = 0;
  Setting tight(tables, 2, "100 MB");
  ColumnSearch search = tight.search(options);
  const PieceList found = search.best(tight.whole(), {});
  CHECK(found.rank_of.size() > 3);
  for (std::uint32_t t = 0; t < 3; ++t) CHECK(columns_of(found, t, tight.kinds) == 1000);

  Setting small(tables, 2, "80 MB");  // 180 MB do not fit in 160
  ColumnSearch hopeless = small.search(options);
  const PieceList none = hopeless.best(small.whole(), {});
  CHECK(none.rank_of.empty());
  CHECK(none.over.all == doctest::Approx(20e6));
}

TEST_CASE("a search that is stopped stops") {
  Setting setting({pooled_table("a", 10, 128)}, 2);
  ColumnSearch search = setting.search({});
  int asked = 0;
  const auto stop = [&] {
    if (++asked == 2) throw run_error("interrupted", "");
  };
  CHECK_THROWS_AS(search.best(setting.whole(), stop), Error);
  CHECK(asked == 2);
}

}  // namespace shardsim::column_search_test
