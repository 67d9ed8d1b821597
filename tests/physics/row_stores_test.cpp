#include "plan/row_stores.h"

#include <doctest/doctest.h>

#include "base/tree/json.h"
#include "program/program_file.h"
#include "sim/memory/memory_profile.h"
#include "tests/physics/played_caches.h"

namespace shardsim::row_stores_test {

// Tables in key-value stores of the host, by hand and by laws (docs/lowering.md, "Key-value stores").

using namespace shardsim::physics;

namespace {

Workload one_table(double s, const std::string& more = "", int dim = 64) {
  return table_of_ids(s, "optimizer: {name: adam}\n" + more, dim);
}

ClusterSpec node_of(int gpus) {
  ClusterSpec spec = cluster_spec("toy_2x4.yaml", 1);
  spec.gpu.count = gpus;
  spec.gpu.kernel_overhead = {0};
  return spec;
}

Placement stored(const std::string& kernel, double load_factor, std::int64_t l2 = 0, std::int64_t dim = 64) {
  Placement placement = placed(0, Strategy::table_wise, {{0}}, {0, dim});
  placement.row_end = kRows;
  placement.compute_kernel = kernel;
  if (has_cache(kernel)) placement.cache_load_factor = load_factor;
  placement.l2 = {l2};
  return placement;
}

const Op& need(const Program& program, OpRole role) {
  const Op* const op = first_in(program, role);
  REQUIRE(op != nullptr);
  return *op;
}

double seconds_of(const Program& program, OpRole role, const Cluster& cluster) {
  const Timeline timeline = simulated(program, cluster);
  const int id = need(program, role).id;
  double most = 0;
  for (const Span& span : timeline.spans)
    if (span.op == id) most = std::max(most, (span.end_us - span.start_us) * 1e-6);
  return most;
}

std::int64_t bytes_of_rows(double share) {
  return std::llround(share * static_cast<double>(kRows) * kRowBytes);
}

}  // namespace

TEST_CASE("a cache in device memory of the whole table is device memory, to the last digit") {
  for (const char* const pipeline : {"none", "sparse_dist", "prefetch_sparse_dist"}) {
    CAPTURE(pipeline);
    const Workload workload = one_table(
        0.9, fmt::format("pipeline: {}\ninput_exchange: full\ndense: {{layers: [{{name: top, in: 64, out: 8}}]}}\n",
                         pipeline));
    const Cluster cluster(node_of(1));
    const auto time = [&](const Placement& placement) {
      return simulated(lowered_plan({{placement}}, workload, cluster), cluster).iteration_ms;
    };
    for (const char* const kernel : {"key_value", "dram_virtual_table", "ssd_virtual_table"}) {
      CAPTURE(kernel);
      CHECK(time(stored(kernel, 1)) == time(stored("fused", 1)));
      CHECK(time(stored(kernel, 0.5)) > time(stored("fused", 1)));
    }
  }
}

TEST_CASE("the first cache misses as one of fused_uvm_caching does, whatever cache_policy says") {
  const Cluster cluster(node_of(1));
  const Workload latest = one_table(0.9), hottest = one_table(0.9, "cache_policy: lfu\n");
  const Program uvm = lowered_plan({{stored("fused_uvm_caching", 0.2)}}, latest, cluster);
  for (const Workload* const workload : {&latest, &hottest}) {
    const Program program = lowered_plan({{stored("key_value", 0.2)}}, *workload, cluster);
    CHECK(need(program, OpRole::prefetch_rows).host_bytes == need(uvm, OpRole::prefetch_rows).host_bytes);
    CHECK(need(program, OpRole::lookup).hbm_bytes == need(uvm, OpRole::lookup).hbm_bytes);
    CHECK(first_in(uvm, OpRole::fetch_rows) == nullptr);
  }
}

TEST_CASE("a fetch reads a block of 4 KiB for each row that no cache has, and copies what the first one misses") {
  const Cluster cluster(node_of(1));
  const Program program = lowered_plan({{stored("key_value", 0.2)}}, one_table(0.9), cluster);
  const double missed = need(program, OpRole::prefetch_rows).host_bytes.at(0) / (2 * kRowBytes);
  const Op& fetch = need(program, OpRole::fetch_rows);
  CHECK(fetch.ssd_reads.at(0) == doctest::Approx(missed));
  CHECK(fetch.ssd_bytes.at(0) == doctest::Approx(4096 * missed));
  CHECK(fetch.memory_bytes.at(0) == doctest::Approx(2 * kRowBytes * missed));
  const Op& write = need(program, OpRole::write_rows);
  CHECK(write.ssd_reads.at(0) == 0);
  CHECK(write.ssd_bytes.at(0) == doctest::Approx(kRowBytes * missed));  // behind each other
  CHECK(write.memory_bytes == fetch.memory_bytes);
  Program kept = program;
  kept.scenario = kept.case_name = "kept";
  CHECK(program_from_tree(parse_json(program_to_json(kept), "test")) == kept);

  // Adam's two states lie beside the rows of virtual tables, and a row of 5,120 bytes takes two blocks.
  const Program wide =
      lowered_plan({{stored("ssd_virtual_table", 0.2, 0, 1280 / 3)}}, one_table(0.9, "", 1280 / 3), cluster);
  const Op& two = need(wide, OpRole::fetch_rows);
  CHECK(two.ssd_reads.at(0) == doctest::Approx(2 * missed));
  CHECK(need(wide, OpRole::prefetch_rows).host_bytes.at(0) == doctest::Approx(2 * missed * 12 * (1280 / 3)));
}

TEST_CASE("a cache in host memory of the whole table, and a store there, read nothing from SSDs") {
  const Cluster cluster(node_of(1));
  for (const Placement& placement : {stored("key_value", 0.1, bytes_of_rows(1)), stored("dram_virtual_table", 0.1)}) {
    const Program program = lowered_plan({{placement}}, one_table(0.9), cluster);
    const Op& fetch = need(program, OpRole::fetch_rows);
    CHECK(fetch.ssd_reads.at(0) == 0);
    CHECK(fetch.ssd_bytes.at(0) == 0);
    CHECK(fetch.memory_bytes.at(0) > 0);
    CHECK(need(program, OpRole::write_rows).ssd_bytes.at(0) == 0);
  }
}

TEST_CASE("a larger cache in host memory never reads more from SSDs") {
  const Cluster cluster(node_of(1));
  for (const double s : {0.0, 0.9, 1.3}) {
    double before = 1e300;
    for (int tenths = 0; tenths <= 10; ++tenths) {
      const Placement placement = stored("key_value", 0.1, bytes_of_rows(tenths / 10.0));
      const double reads = need(lowered_plan({{placement}}, one_table(s), cluster), OpRole::fetch_rows).ssd_reads.at(0);
      CAPTURE(s);
      CAPTURE(tenths);
      CHECK(reads <= before);
      before = reads;
    }
    CHECK(before == 0);
  }
}

namespace {

// The share of the different rows of a batch that neither of two caches has: the second one gets what is read, and what
// leaves the first one.
double played_on_ssd(double s, double first_share, double second_share) {
  DrawnIds ids(s);
  LatestRows first(static_cast<std::size_t>(first_share * kRows)),
      second(static_cast<std::size_t>(second_share * kRows));
  double reads = 0, rows = 0;
  for (int batch = 0; batch < 240; ++batch) {
    const std::vector<int> different = ids.next_different();
    std::vector<int> read;
    for (const int row : different)
      if (!first.holds(row) && !second.holds(row)) read.push_back(row);
    if (batch >= 120) rows += static_cast<double>(different.size()), reads += static_cast<double>(read.size());
    for (const int row : different) first.use(row);
    for (const int row : read) second.use(row);
    for (const int row : first.drop()) second.use(row);
    second.drop();
  }
  return reads / rows;
}

}  // namespace

TEST_CASE("rows read from SSDs are within 2 points of two caches of Zipf ids that are played") {
  const Cluster cluster(node_of(1));
  for (const double s : {0.0, 0.6, 1.05}) {
    for (const auto& [first, second] : {std::pair{0.1, 0.2}, {0.2, 0.1}, {0.05, 0.4}}) {
      CAPTURE(s);
      CAPTURE(first);
      CAPTURE(second);
      const Program program =
          lowered_plan({{stored("key_value", first, bytes_of_rows(second))}}, one_table(s), cluster);
      const double predicted =
          need(program, OpRole::fetch_rows).ssd_reads.at(0) / need(program, OpRole::update).distinct_rows.at(0);
      const double played = played_on_ssd(s, first, second);
      CAPTURE(predicted);
      CHECK(std::abs(predicted - played) < 0.02);
    }
  }
}

TEST_CASE("a fetch takes the longest of bytes, reads and copies, by hand") {
  const Workload workload = one_table(0.9);
  ClusterSpec spec = node_of(1);
  const Program program = lowered_plan({{stored("key_value", 0.2)}}, workload, Cluster(spec));
  const double reads = need(program, OpRole::fetch_rows).ssd_reads.at(0);
  spec.host.memory_bandwidth = {1e15};
  spec.host.ssd = SsdSpec{{4096e3}, {1e6}, 1e9, {}};  // 1,000 blocks a second
  CHECK(seconds_of(program, OpRole::fetch_rows, Cluster(spec)) == doctest::Approx(reads / 1e3));
  CHECK(seconds_of(program, OpRole::write_rows, Cluster(spec)) == doctest::Approx(reads * kRowBytes / 1e6));
  spec.host.ssd = SsdSpec{{1e15}, {1e15}, 500, {}};
  CHECK(seconds_of(program, OpRole::fetch_rows, Cluster(spec)) == doctest::Approx(reads / 500));
  spec.host.memory_bandwidth = {1e5};
  spec.host.ssd = SsdSpec{{1e15}, {1e15}, 1e12, {}};
  CHECK(seconds_of(program, OpRole::fetch_rows, Cluster(spec)) == doctest::Approx(2 * reads * kRowBytes / 1e5));
}

TEST_CASE("GPUs of a node share its SSDs, those of others do not") {
  const Workload workload = one_table(0.9);
  ClusterSpec spec = cluster_spec("toy_2x4.yaml");
  spec.host.ssd = SsdSpec{{1e15}, {1e15}, 500, {}};
  const Cluster cluster(spec);
  Placement placement = stored("key_value", 0.2);
  const auto slices = [&](std::vector<int> ranks) {
    std::vector<Placement> placements;
    for (std::size_t i = 0; i < ranks.size(); ++i) {
      placement.strategy = Strategy::column_wise;
      placement.column_begin = static_cast<std::int64_t>(i) * 32;
      placement.column_end = placement.column_begin + 32;
      placement.holders = {{ranks[i]}};
      placements.push_back(placement);
    }
    return seconds_of(lowered_plan({placements}, workload, cluster), OpRole::fetch_rows, cluster);
  };
  CHECK(slices({0, 1}) == doctest::Approx(2 * slices({0, 4})).epsilon(1e-3));
}

TEST_CASE("twice the rate of SSDs is never slower, and a prefetch hides the fetch") {
  const auto time = [](const std::string& pipeline, double factor) {
    ClusterSpec spec = node_of(1);
    spec.host.ssd = SsdSpec{{factor * 65e6}, {factor * 35e6}, factor * 9e4, {}};
    const Workload workload = one_table(
        0.9,
        fmt::format("pipeline: {}\ninput_exchange: full\ndense: {{layers: [{{name: top, in: 64, out: 8192}}, {{name: "
                    "over, in: 8192, out: 8192}}]}}\n",
                    pipeline));
    const Cluster cluster(spec);
    return simulated(lowered_plan({{stored("key_value", 0.3)}}, workload, cluster), cluster).iteration_ms;
  };
  for (const char* const pipeline : {"none", "sparse_dist", "prefetch_sparse_dist"}) {
    double before = 1e300;
    for (const double factor : {0.25, 0.5, 1.0, 2.0, 4.0}) {
      CAPTURE(pipeline);
      const double now = time(pipeline, factor);
      CHECK(now <= before);
      before = now;
    }
  }
  CHECK(time("none", 0.5) > 1.2 * time("none", 100));
  CHECK(time("prefetch_sparse_dist", 8) < 1.02 * time("prefetch_sparse_dist", 100));
  CHECK(time("prefetch_sparse_dist", 8) < time("sparse_dist", 8));
}

TEST_CASE("tables of a rank that are looked up together share the caches that are stated") {
  const Workload workload = two_tables_of(TableKind::pooled);
  const auto table = [&](int number, int rank) {
    Placement placement = placed(number, Strategy::table_wise, {{rank}});
    placement.compute_kernel = "key_value";
    placement.cache_load_factor = 0.5;
    placement.most_l1 = Bytes{80 * 256};
    placement.l2 = Bytes{320 * 256};
    return placement;
  };
  const std::vector<RowCaches> together = row_caches({table(0, 0), table(1, 0)}, workload),
                               apart = row_caches({table(0, 0), table(1, 5)}, workload);
  for (const RowCaches& caches : together) {
    CHECK(caches.hbm == doctest::Approx(80.0 / 1600));
    CHECK(caches.host == doctest::Approx(320.0 / 1600));
  }
  CHECK(apart[0].hbm == doctest::Approx(80.0 / 1000));
  CHECK(apart[1].host == doctest::Approx(320.0 / 600));
}

TEST_CASE("tables that are looked up apart have caches of their own") {
  Workload workload = two_tables_of(TableKind::pooled);
  const auto table = [&](int number, Strategy strategy) {
    Placement placement = placed(number, strategy, {{0}});
    placement.compute_kernel = "key_value";
    placement.most_l1 = Bytes{80 * 256};
    return placement;
  };
  const auto share_of_first = [&](Strategy of_second) {
    return row_caches({table(0, Strategy::table_wise), table(1, of_second)}, workload)[0].hbm;
  };
  const double alone = 80.0 / 1000, together = share_of_first(Strategy::table_wise);
  CHECK(together < alone);
  CHECK(share_of_first(Strategy::column_wise) == doctest::Approx(alone));
  workload.tables[1].pooling = "mean";
  CHECK(share_of_first(Strategy::table_wise) == doctest::Approx(alone));
  workload.tables[1].pooling = "sum";
  workload.tables[1].features.front().weighted = true;
  CHECK(share_of_first(Strategy::table_wise) == doctest::Approx(alone));
  workload.tables[1].features.front().weighted = false;
  workload.tables[1].module = "other";
  CHECK(share_of_first(Strategy::table_wise) == together);
  workload.modules_apart = true;
  CHECK(share_of_first(Strategy::table_wise) == doctest::Approx(alone));
}

TEST_CASE("rows on SSDs and caches in host memory are held against what a node has") {
  const Workload workload = one_table(0.9);
  const auto fault = [&](const Placement& placement, std::int64_t ssd, std::int64_t memory) {
    ClusterSpec spec = node_of(1);
    spec.host.ssd = SsdSpec{};
    spec.host.ssd->capacity = Bytes{ssd};
    spec.host.memory = Bytes{memory};
    const auto model = make_memory_model(named("paper"));
    try {
      check_memory({{placement}}, workload, Cluster(spec), *model);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  const auto all = static_cast<std::int64_t>(kRows * kRowBytes);
  CHECK(fault(stored("key_value", 0.2, all / 2), all, all / 2).empty());
  CHECK(fault(stored("key_value", 0.2), all - 1, all).find("does not fit on SSDs: node 0 needs") != std::string::npos);
  CHECK(fault(stored("key_value", 0.2, all / 2), all, all / 2 - 1).find("does not fit in host memory") !=
        std::string::npos);
  CHECK(fault(stored("ssd_virtual_table", 0.2), 1, all).empty());  // rows come into being as they are met
}

TEST_CASE("device memory holds the first cache with its bookkeeping, and the states of all rows of key_value") {
  const Workload workload = one_table(0.9);
  const auto memory = [&](const std::string& kernel) {
    return resident_memory({{stored(kernel, 0.2)}}, workload, 1).front();
  };
  const double rows = kRows;
  CHECK(memory("key_value")[MemoryPart::tables] == std::llround(0.2 * rows * kRowBytes));
  CHECK(memory("key_value")[MemoryPart::optimizer] == std::llround(rows * 2 * kRowBytes));
  CHECK(memory("key_value")[MemoryPart::cache] == std::llround(rows * (4 + 16 * 0.2)));
  CHECK(memory("ssd_virtual_table")[MemoryPart::tables] == std::llround(0.2 * rows * 3 * kRowBytes));
  CHECK(memory("ssd_virtual_table")[MemoryPart::optimizer] == 0);
  CHECK(memory("ssd_virtual_table")[MemoryPart::cache] == std::llround(rows * 16 * 0.2));
}

}  // namespace shardsim::row_stores_test
