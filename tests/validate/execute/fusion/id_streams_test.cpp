#include "validate/execute/fusion/id_streams.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "tests/validate/execute/sample_programs.h"
#include "validate/execute/fusion/rank_rows.h"

namespace shardsim::id_streams_test {

namespace {

Program uniform_toy() {
  Program program = sample::toy_program();
  program.tables[0].access = AccessSpec{};
  program.tables[0].average_length = 20;
  return program;
}

std::vector<std::int64_t> part(const IdBatch& batch, std::size_t owner) {
  const auto first = std::accumulate(batch.counts.begin(), batch.counts.begin() + static_cast<std::ptrdiff_t>(owner),
                                     std::ptrdiff_t{0});
  return {batch.ids.begin() + first, batch.ids.begin() + first + batch.counts[owner]};
}

std::int64_t sum(const std::vector<std::int64_t>& numbers) {
  return std::accumulate(numbers.begin(), numbers.end(), std::int64_t{0});
}

Fusion fusion_of(const Program& program, const std::string& lookup) {
  for (const Fusion& fusion : sample::fusions(program)) {
    if (program.ops[static_cast<std::size_t>(fusion.lookup)].name == lookup) return fusion;
  }
  REQUIRE_MESSAGE(false, "no such lookup");
  return {};
}

// Times that every row of a table is asked for, by popularity position, over all ranks and batches.
std::vector<double> hits(const Program& program, const Fusion& fusion, int table) {
  std::map<std::pair<int, std::int64_t>, std::uint64_t> position_of;  // by owner and running number
  for (const int index : fusion.shards) {
    const Program::Shard& shard = program.shards[static_cast<std::size_t>(index)];
    if (shard.table != table) continue;
    for (int rank = 0; rank < program.world_size; ++rank) {
      for (const RankRows::Part& held : rank_rows(program, fusion, rank).parts) {
        if (held.shard != index) continue;
        for (std::uint64_t position = shard.row_begin; position < shard.row_end; ++position) {
          const RowOwner owner = row_owner(program, shard, position);
          if (owner.shard != held.position) continue;
          position_of[{rank, held.first_row + static_cast<std::int64_t>(owner.local_row)}] = position;
        }
      }
    }
  }
  std::vector<double> counts(program.tables[static_cast<std::size_t>(table)].rows, 0);
  for (int rank = 0; rank < program.world_size; ++rank) {
    const std::vector<int> owners = set_of(program, fusion.ids, rank);
    for (int b = 0; b < program.index_batches; ++b) {
      const IdBatch batch = draw_ids(program, fusion, rank, b);
      for (std::size_t owner = 0; owner < owners.size(); ++owner) {
        for (const std::int64_t id : part(batch, owner)) {
          const auto found = position_of.find({owners[owner], id});
          if (found != position_of.end()) ++counts[found->second];
        }
      }
    }
  }
  return counts;
}

// Sum of (observed - expected)^2 / expected over intervals of popularity that each double the one before.
double chi_square(const std::vector<double>& counts, const AccessDistribution& access, std::uint64_t first,
                  std::uint64_t end, int* freedom) {
  const double total = std::accumulate(counts.begin(), counts.end(), 0.0);
  double chi = 0;
  *freedom = -1;
  for (std::uint64_t from = first, wide = 1; from < end; from += wide, wide *= 2) {
    const std::uint64_t to = end - from < 3 * wide ? end : from + wide;
    const double expected = total * access.sum(from, to) / access.sum(first, end);
    const double observed = std::accumulate(counts.begin() + static_cast<std::ptrdiff_t>(from),
                                            counts.begin() + static_cast<std::ptrdiff_t>(to), 0.0);
    chi += (observed - expected) * (observed - expected) / expected;
    ++*freedom;
    if (to == end) break;
  }
  return chi;
}

}  // namespace

// The numbers come from a second implementation of the rule, in another language.
TEST_CASE("ids of the worked example with uniform access, drawn by hand") {
  const Program program = uniform_toy();
  const IdBatch own = draw_ids(program, fusion_of(program, "lookup_data_parallel"), 1, 0);
  REQUIRE(own.ids.size() == 160);
  CHECK(std::vector<std::int64_t>(own.ids.begin(), own.ids.begin() + 8) ==
        std::vector<std::int64_t>{7, 35, 60, 51, 25, 48, 19, 13});

  const IdBatch asked = draw_ids(program, fusion_of(program, "lookup_row_wise"), 3, 5);
  const auto of_0 = part(asked, 0);  // 44 drawn, 40 kept
  CHECK(std::vector<std::int64_t>(of_0.begin(), of_0.begin() + 5) == std::vector<std::int64_t>{13, 48, 2, 347, 396});
  CHECK(std::vector<std::int64_t>(of_0.end() - 3, of_0.end()) == std::vector<std::int64_t>{838, 763, 752});
  CHECK(sum(of_0) == 17695);
  const auto of_6 = part(asked, 6);  // 37 drawn, the first three again
  CHECK(std::vector<std::int64_t>(of_6.begin(), of_6.begin() + 3) == std::vector<std::int64_t>{856, 39, 531});
  CHECK(std::vector<std::int64_t>(of_6.end() - 3, of_6.end()) == std::vector<std::int64_t>{856, 39, 531});
  CHECK(sum(asked.ids) == 143067);
}

TEST_CASE("the worked example asks every owner for what its matrices say") {
  const Program program = sample::toy_program();
  for (int rank = 0; rank < 8; ++rank) {
    for (int b = 0; b < program.index_batches; ++b) {
      const IdBatch rows = draw_ids(program, fusion_of(program, "lookup_row_wise"), rank, b);
      CHECK(rows.counts == std::vector<std::int64_t>(8, 40));
      CHECK(rows.ids.size() == 320);
      CHECK(std::ranges::all_of(rows.ids, [](std::int64_t id) { return 0 <= id && id < 892; }));
      const IdBatch flex = draw_ids(program, fusion_of(program, "lookup_flex"), rank, b);
      CHECK(flex.counts == std::vector<std::int64_t>(4, 40));
      CHECK(std::ranges::all_of(flex.ids, [](std::int64_t id) { return 0 <= id && id < 200; }));
      const IdBatch own = draw_ids(program, fusion_of(program, "lookup_data_parallel"), rank, b);
      CHECK(own.counts == std::vector<std::int64_t>{160});
      CHECK(std::ranges::all_of(own.ids, [](std::int64_t id) { return 0 <= id && id < 64; }));
    }
  }
}

TEST_CASE("who is asked") {
  const Program program = sample::toy_program();
  CHECK(set_of(program, fusion_of(program, "lookup_row_wise").ids, 5) == all_ranks(8));
  CHECK(set_of(program, fusion_of(program, "lookup_flex").ids, 5) == std::vector<int>{4, 5, 6, 7});
  CHECK(set_of(program, fusion_of(program, "lookup_data_parallel").ids, 5) == std::vector<int>{5});
}

// The first position of tier 2 is j = 4969: row 509 of piece 5 (docs/formats/program.md).
TEST_CASE("when one row takes all accesses, its owner gets it and the others repeat their first row") {
  Program program = sample::toy_program();
  program.tables[0].access.family = "explicit";
  program.tables[0].access.p = std::vector<double>(8000, 0.0);
  std::fill_n(program.tables[0].access.p.begin(), 865, 0.01);
  program.tables[0].average_length = 8.65;
  const IdBatch batch = draw_ids(program, fusion_of(program, "lookup_row_wise"), 2, 0);
  CHECK(part(batch, 5) == std::vector<std::int64_t>(40, 509));
  for (const std::size_t other : {0U, 1U, 2U, 3U, 4U, 6U, 7U}) {
    CHECK(part(batch, other) == std::vector<std::int64_t>(40, 0));
  }
}

TEST_CASE("batches, ranks, tiers and seeds draw different ids; the same ones draw the same") {
  Program program = sample::toy_program();
  const Fusion fusion = fusion_of(program, "lookup_row_wise");
  const std::vector<std::int64_t> ids = draw_ids(program, fusion, 3, 2).ids;
  CHECK(draw_ids(program, fusion, 3, 2).ids == ids);
  CHECK(draw_ids(program, fusion, 3, 3).ids != ids);
  CHECK(draw_ids(program, fusion, 2, 2).ids != ids);
  program.seed = 8;
  CHECK(draw_ids(program, fusion, 3, 2).ids != ids);
}

TEST_CASE("a rank that does not look up asks for nothing") {
  Program program = sample::toy_program();
  program.ops[4].ranks = {0, 1};
  program.ops[4].lookups.values = {100, 7};
  program.ops[11].after = {};
  const Fusion fusion{.lookup = 4, .shards = {0}, .parts = {{4, -1, -1, {0}}}};
  CHECK(draw_ids(program, fusion, 1, 0).counts == std::vector<std::int64_t>{7});
  CHECK(draw_ids(program, fusion, 2, 0).counts.empty());
  CHECK(draw_ids(program, fusion, 2, 0).ids.empty());
}

TEST_CASE("ids of several tables add up to what the matrix counts, in the proportion planned") {
  const Program program = sample::lowered("{name: row_wise}", sample::workload(sample::kTwoTables));
  const Fusion fusion = sample::fusions(program).front();
  const PartShares shares(program, fusion);
  CHECK(shares.per_shard(128) == std::vector<std::int64_t>{80, 48});  // 16 samples of 5 and of 3
  CHECK(shares.per_shard(64) == std::vector<std::int64_t>{40, 24});
  CHECK(shares.per_shard(129) == std::vector<std::int64_t>{81, 48});
  CHECK(shares.per_shard(0) == std::vector<std::int64_t>{0, 0});
}

TEST_CASE("every planner's ids fill the matrices and stay inside the rows of their owners") {
  for (const std::string& tables : {sample::kTwoTables, sample::kTwoDims}) {
    for (const std::string& planner : sample::planners()) {
      CAPTURE(tables);
      CAPTURE(planner);
      const Program program = sample::lowered(planner, sample::workload(tables, "sparse_dist"));
      for (const Fusion& fusion : sample::fusions(program)) {
        for (int rank = 0; rank < program.world_size; ++rank) {
          const IdBatch batch = draw_ids(program, fusion, rank, rank);
          const std::vector<int> owners = set_of(program, fusion.ids, rank);
          REQUIRE(batch.counts.size() == owners.size());
          REQUIRE(sum(batch.counts) == static_cast<std::int64_t>(batch.ids.size()));
          bool inside = true;
          for (std::size_t owner = 0; owner < owners.size(); ++owner) {
            const std::int64_t rows = rank_rows(program, fusion, owners[owner]).rows;
            for (const std::int64_t id : part(batch, owner)) inside = inside && 0 <= id && id < rows;
          }
          CHECK(inside);
        }
      }
    }
  }
}

TEST_CASE("the ids of all lookups are the items of the batch, a copy for each column shard") {
  for (const std::string& planner : sample::planners()) {
    CAPTURE(planner);
    const Program program = sample::lowered(planner, sample::workload(sample::kTwoTables));
    std::size_t ids = 0;
    for (const Fusion& fusion : sample::fusions(program)) ids += draw_ids(program, fusion, 3, 0).ids.size();
    const std::size_t copies = planner.find("column_wise") == std::string::npos ? 1 : 2;  // 64 columns in 32s
    // Each tier's items are rounded on their own.
    const std::size_t tiers = planner.find("flexshard") == std::string::npos ? 0 : 2;
    CHECK(ids + tiers >= 128 * copies);
    CHECK(ids <= 128 * copies + tiers);
  }
}

TEST_CASE("column shards of a table are asked for the same rows") {
  const Program program =
      sample::lowered("{name: column_wise, min_partition: 32}", sample::workload(sample::kTwoTables));
  const Fusion fusion = sample::fusions(program).front();
  const IdBatch batch = draw_ids(program, fusion, 6, 1);
  std::map<int, std::vector<std::vector<std::int64_t>>> by_table;  // local rows, one list per column shard
  const std::vector<int> owners = set_of(program, fusion.ids, 6);
  for (std::size_t owner = 0; owner < owners.size(); ++owner) {
    const RankRows held = rank_rows(program, fusion, owners[owner]);
    REQUIRE(held.parts.size() <= 1);  // four shards over eight ranks
    for (const RankRows::Part& one : held.parts) {
      by_table[program.shards[static_cast<std::size_t>(one.shard)].table].push_back(part(batch, owner));
    }
  }
  REQUIRE(by_table.size() == 2);
  CHECK(by_table[0].size() == 2);
  CHECK(by_table[0][0].size() == 80);
  CHECK(by_table[0][0] == by_table[0][1]);
  CHECK(by_table[1][0].size() == 48);
  CHECK(by_table[1][0] == by_table[1][1]);
}

// 0.1 % of honest draws come out above: chi-square of 8 and 9 degrees of freedom passes 26.1 and 27.9.
TEST_CASE("rows are asked for as often as the access distribution says") {
  const Workload workload = sample::workload(sample::kTwoTables);
  for (const char* const planner : {"{name: data_parallel}", "{name: table_wise}"}) {
    const Program program = sample::lowered(planner, workload);
    for (const int table : {0, 1}) {
      CAPTURE(planner);
      CAPTURE(table);
      const AccessDistribution access = workload.tables[static_cast<std::size_t>(table)].distribution();
      const std::vector<double> counts = hits(program, sample::fusions(program).front(), table);
      CHECK(std::accumulate(counts.begin(), counts.end(), 0.0) == 64 * (table == 0 ? 80 : 48));
      int freedom = 0;
      const double chi = chi_square(counts, access, 0, access.rows(), &freedom);
      REQUIRE(freedom >= 7);
      REQUIRE(freedom <= 9);
      CHECK(chi < 27.9);
    }
  }
}

TEST_CASE("cut over the ranks, rows are still asked for as often as the distribution says, where none is hot") {
  const Workload workload = sample::workload(
      "  - {name: a, rows: 8000, dim: 4, kind: sequence, average_length: 40, access: {family: zipf, s: 0.3}}\n");
  const Program program = sample::lowered("{name: row_wise}", workload);
  const AccessDistribution access = workload.tables[0].distribution();
  const std::vector<double> counts = hits(program, sample::fusions(program).front(), 0);
  CHECK(std::accumulate(counts.begin(), counts.end(), 0.0) == 64 * 640);
  int freedom = 0;
  CHECK(chi_square(counts, access, 0, 8000, &freedom) < 32.9);  // 0.1 % above 32.9 with 12 degrees of freedom
  CHECK(freedom <= 12);
}

// A row of 13 % of the accesses lies on one of eight pieces. With even shares the matrix asks an eighth of each piece,
// so the executor draws it less often than the distribution says: the exchange stays the one that was simulated.
TEST_CASE("a piece with a hot row is asked for no more than its matrix says") {
  const Workload workload = sample::workload(sample::kTwoTables);
  const Program program =
      sample::lowered("{name: row_wise}", workload, true, {.row_shares = LoadOptions::RowShares::even});
  const std::vector<double> counts = hits(program, sample::fusions(program).front(), 0);
  const double share = counts[0] / std::accumulate(counts.begin(), counts.end(), 0.0);
  const AccessDistribution access = workload.tables[0].distribution();
  CHECK(share < 1.0 / 8);
  CHECK(share < access.sum(0, 1) / access.total());
  CHECK(share > 1.0 / 24);
}

// With the shares of the rows the matrix asks each piece for what its rows are asked for, however hot they are, and so
// the whole law is drawn; what is trimmed or repeated is what rounding leaves, and the chance of a batch.
TEST_CASE(
    "cut over the ranks by their real shares, rows are asked for as often as the distribution says, hot ones too") {
  for (const RowOrder order : {RowOrder::random, RowOrder::popularity}) {
    for (const RowCut cut : {RowCut::blocks, RowCut::modulo}) {
      Workload workload = sample::workload(
          "  - {name: a, rows: 8000, dim: 4, kind: sequence, average_length: 40, access: {family: zipf, s: 1.05}}\n");
      workload.tables[0].row_order = order;
      const Program program = sample::lowered("{name: row_wise}", workload, true, {.row_cut = cut});
      REQUIRE_FALSE(program.shards[0].lookups.empty());
      const AccessDistribution access = workload.tables[0].distribution();
      const std::vector<double> counts = hits(program, sample::fusions(program).front(), 0);
      CHECK(std::accumulate(counts.begin(), counts.end(), 0.0) == 64 * 640);
      int freedom = 0;
      CHECK(chi_square(counts, access, 0, 8000, &freedom) < 32.9);  // 0.1 % above it with 12 degrees of freedom
      CHECK(freedom <= 12);
    }
  }
}

// Drawn freely, before the matrix trims anything: each owner gets what the Program says, within 1 %.
TEST_CASE("ids that are really drawn ask every owner for what its Program says" * doctest::test_suite("long")) {
  for (const double s : {1.05, 1.2}) {
    for (const RowOrder order : {RowOrder::random, RowOrder::popularity}) {
      Workload workload = sample::workload(
          "  - {name: a, rows: 20000, dim: 4, kind: sequence, average_length: 40, access: {family: zipf, s: 1}}\n");
      workload.tables[0].access.s = s;
      workload.tables[0].row_order = order;
      const Program program = sample::lowered("{name: row_wise}", workload);
      const Program::Shard& shard = program.shards[0];
      const AccessDistribution access = workload.tables[0].distribution();
      std::vector<double> owners(8, 0.0);
      constexpr int kDraws = 1'000'000;
      Rng rng(11);
      for (int i = 0; i < kDraws; ++i) {
        const std::uint64_t position = access.position_at(rng.uniform() * access.total());
        owners[static_cast<std::size_t>(row_owner(program, shard, position).shard)] += 1.0 / kDraws;
      }
      const double all = 8.0 * 640;
      for (std::size_t owner = 0; owner < owners.size(); ++owner) {
        CAPTURE(owner);
        const double said = static_cast<double>(shard.lookups[owner]);
        CHECK(std::abs(owners[owner] * all - said) < 0.01 * said + 1);
      }
    }
  }
}

TEST_CASE("inside a tier the law is that of its rows") {
  const Program program = sample::toy_program();
  const AccessDistribution access = program.tables[0].distribution();
  int freedom = 0;
  const double chi = chi_square(hits(program, fusion_of(program, "lookup_data_parallel"), 0), access, 0, 64, &freedom);
  CHECK(freedom == 5);
  CHECK(chi < 20.5);
}

}  // namespace shardsim::id_streams_test
