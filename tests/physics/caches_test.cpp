#include <doctest/doctest.h>

#include <map>
#include <random>
#include <set>

#include "tests/physics/two_tables.h"

namespace shardsim::caches_test {

// Caches of rows in host memory, against a cache that is played with drawn ids, and laws.

using namespace shardsim::physics;

namespace {

constexpr std::uint64_t kRows = 20'000;
constexpr int kBatch = 1'000;  // ids of a batch
constexpr double kRowBytes = 64 * 4;
constexpr int kNumbering = 7'919;  // rows are numbered in another order than that of their popularity

// One table of `kRows` rows on a single GPU, one id a sample.
Workload one_table(double s, const std::string& more = "") {
  return read_workload(
      parse_yaml(
          fmt::format("schema: shardsim.workload/1\nname: one\nbatch_per_gpu: {}\noptimizer: {{name: sgd}}\n{}"
                      "tables: [{{name: a, rows: {}, dim: 64, kind: pooled, pooling_factor: 1, access: {{family: "
                      "zipf, s: {}}}}}]\n",
                      kBatch, more, kRows, s),
          "one"),
      "");
}

Cluster one_gpu() {
  ClusterSpec spec = cluster_spec("toy_2x4.yaml", 1);
  spec.gpu.count = 1;
  return Cluster(spec);
}

Program with_cache(const Workload& workload, double load_factor, const std::string& kernel = "fused_uvm_caching") {
  Placement placement = placed(0, Strategy::table_wise, {{0}});
  placement.row_end = workload.tables.front().rows;
  placement.compute_kernel = kernel;
  if (kernel == "fused_uvm_caching") placement.cache_load_factor = load_factor;
  return lowered_plan({{placement}}, workload, one_gpu());
}

const Op* in_role(const Program& program, OpRole role) {
  const auto found = std::ranges::find(program.ops, role, &Op::role);
  return found == program.ops.end() ? nullptr : &*found;
}

double hit_rate(const Program& program) {
  const double moved = in_role(program, OpRole::prefetch_rows)->host_bytes.at(0) / (2 * kRowBytes);
  return 1 - moved / in_role(program, OpRole::update)->distinct_rows.at(0);
}

// The share of the different rows of a batch that a cache of `capacity` rows has, which finds all rows of a batch
// before it drops those that were used longest ago for the others; over the later half of 300 batches.
double played_hit_rate(double s, std::size_t capacity) {
  std::vector<double> weights;
  for (std::uint64_t rank = 1; rank <= kRows; ++rank) weights.push_back(std::pow(static_cast<double>(rank), -s));
  std::discrete_distribution<int> ids(weights.begin(), weights.end());
  std::mt19937_64 random(5);
  std::map<int, int> cached;             // row -> the batch that used it last
  std::set<std::pair<int, int>> latest;  // batch, row
  double hits = 0, rows = 0;
  for (int batch = 0; batch < 300; ++batch) {
    std::set<int> different;
    for (int i = 0; i < kBatch; ++i) different.insert(kNumbering * ids(random) % static_cast<int>(kRows));
    for (const int row : different) {
      const auto found = cached.find(row);
      if (batch >= 150) rows += 1, hits += found != cached.end() ? 1 : 0;
      if (found != cached.end()) latest.erase({found->second, row});
    }
    for (const int row : different) latest.insert({cached[row] = batch, row});
    for (; cached.size() > capacity; latest.erase(latest.begin())) cached.erase(latest.begin()->second);
  }
  return hits / rows;
}

}  // namespace

TEST_CASE("the hit rate of Zipf ids is within 2 points of a cache of the latest rows that is played") {
  for (const double s : {0.0, 0.6, 0.9, 1.05, 1.3}) {
    for (const double load_factor : {0.1, 0.2, 0.4}) {
      CAPTURE(s);
      CAPTURE(load_factor);
      const double predicted = hit_rate(with_cache(one_table(s), load_factor));
      CHECK(std::abs(predicted - played_hit_rate(s, static_cast<std::size_t>(load_factor * kRows))) < 0.02);
    }
  }
}

TEST_CASE("a cache of all rows is device memory, to the last digit") {
  for (const char* const pipeline : {"none", "base", "sparse_dist", "prefetch_sparse_dist", "semi_sync"}) {
    CAPTURE(pipeline);
    const Workload workload = one_table(
        0.9, fmt::format("pipeline: {}\ninput_exchange: full\ndense: {{layers: [{{name: top, in: 64, out: 8}}]}}\n",
                         pipeline));
    const Program cached = with_cache(workload, 1), resident = with_cache(workload, 1, "fused");
    CHECK(in_role(cached, OpRole::prefetch_rows) == nullptr);
    CHECK(simulated(cached, one_gpu()).iteration_ms == simulated(resident, one_gpu()).iteration_ms);
    CHECK(simulated(with_cache(workload, 0.5), one_gpu()).iteration_ms > simulated(resident, one_gpu()).iteration_ms);
  }
}

TEST_CASE("rows for which a cache has no room beside those of the batches in work are used in host memory") {
  const auto shares = [](const char* pipeline, double load_factor) {
    const Workload workload = one_table(0, fmt::format("pipeline: {}\ninput_exchange: full\n", pipeline));
    const Program program = with_cache(workload, load_factor);
    const Op &lookup = *in_role(program, OpRole::lookup), &update = *in_role(program, OpRole::update);
    const double read = lookup.host_bytes.at(0) / (kRowBytes * kBatch);
    CHECK(update.host_bytes.at(0) == doctest::Approx(2 * kRowBytes * update.distinct_rows.at(0) * read));
    return read;
  };
  const auto different = [](double draws) { return kRows * (1 - std::pow(1 - 1.0 / kRows, draws)); };
  CHECK(shares("none", 0.06) == 0);  // 1,200 rows hold one batch, but not two
  CHECK(shares("prefetch_sparse_dist", 0.06) == doctest::Approx(1 - 1'200 / different(2 * kBatch)).epsilon(1e-3));
  CHECK(shares("none", 0.02) == doctest::Approx(1 - 400 / different(kBatch)).epsilon(1e-3));
  CHECK(shares("prefetch_sparse_dist", 0.2) == 0);
}

TEST_CASE("a cache of the most popular rows misses the others, and moves them once") {
  const Program latest = with_cache(one_table(1.05), 0.2);
  const Program popular = with_cache(one_table(1.05, "cache_policy: lfu\n"), 0.2);
  const double moved = in_role(popular, OpRole::prefetch_rows)->host_bytes.at(0);
  CHECK(moved > 0);
  CHECK(moved < in_role(latest, OpRole::prefetch_rows)->host_bytes.at(0) / 2);
}

}  // namespace shardsim::caches_test
