#include <doctest/doctest.h>

#include <map>
#include <queue>
#include <set>

#include "sim/memory/memory_profile.h"
#include "tests/base/error_text.h"
#include "tests/physics/played_caches.h"

namespace shardsim::caches_test {

// Caches of rows in host memory, against a cache that is played with drawn ids, and laws.

using namespace shardsim::physics;

namespace {

constexpr int kNumbering = 7'919;  // rows are numbered in another order than that of their popularity

// On a single GPU.
Workload one_table(double s, const std::string& more = "") {
  return table_of_ids(s, "optimizer: {name: sgd}\n" + more);
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

double hit_rate(const Program& program) {
  const double moved = first_in(program, OpRole::prefetch_rows)->host_bytes.at(0) / (2 * kRowBytes);
  return 1 - moved / first_in(program, OpRole::update)->distinct_rows.at(0);
}

// The share of the different rows of a batch that a cache of `capacity` rows has, which finds all rows of a batch
// before it drops those that were used longest ago for the others; over the later half of 300 batches.
double played_hit_rate(double s, std::size_t capacity) {
  DrawnIds ids(s, kNumbering);
  LatestRows cached(capacity);
  double hits = 0, rows = 0;
  for (int batch = 0; batch < 300; ++batch) {
    const std::vector<int> different = ids.next_different();
    if (batch >= 150) {
      rows += static_cast<double>(different.size());
      hits += static_cast<double>(std::ranges::count_if(different, [&](int row) { return cached.holds(row); }));
    }
    for (const int row : different) cached.use(row);
    cached.drop();
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
  for (const char* const pipeline : {"none", "base", "sparse_dist", "prefetch_sparse_dist", "semi_sync", "none, lfu"}) {
    CAPTURE(pipeline);
    const std::string given(pipeline);
    const std::string policy = given.find("lfu") != std::string::npos ? "cache_policy: lfu\n" : "";
    const Workload workload = one_table(
        0.9, fmt::format("{}pipeline: {}\ninput_exchange: full\ndense: {{layers: [{{name: top, in: 64, out: 8}}]}}\n",
                         policy, given.substr(0, given.find(','))));
    const Program cached = with_cache(workload, 1), resident = with_cache(workload, 1, "fused");
    CHECK(first_in(cached, OpRole::prefetch_rows) == nullptr);
    CHECK(simulated(cached, one_gpu()).iteration_ms == simulated(resident, one_gpu()).iteration_ms);
    CHECK(simulated(with_cache(workload, 0.5), one_gpu()).iteration_ms > simulated(resident, one_gpu()).iteration_ms);
  }
}

namespace {

// The link to the host is so slow that rows come for longer than the dense part takes.
Cluster with_slow_link() {
  ClusterSpec spec = cluster_spec("toy_2x4.yaml", 1);
  spec.gpu.count = 1;
  spec.host.gpu_link_bandwidth = Bandwidth{1e7};
  return Cluster(spec);
}

// True when an operation in one of the roles ran beside one in the other, in whichever iterations.
bool beside(const Program& program, const Timeline& timeline, const std::vector<OpRole>& some, OpRole other) {
  const auto in = [&](const Span& span, OpRole role) { return program.op(span.op).role == role; };
  return std::ranges::any_of(timeline.spans, [&](const Span& a) {
    const auto meets = [&](const Span& b) {
      return in(b, other) && a.start_us < b.end_us - 1e-6 && b.start_us < a.end_us - 1e-6;
    };
    return std::ranges::any_of(some, [&](OpRole role) { return in(a, role); }) &&
           std::ranges::any_of(timeline.spans, meets);
  });
}

}  // namespace

// FBGEMM, _update_cache_counter_and_locations and _sync_stream_post_backward: else a row without room that the next
// batch brings in would come without its update.
TEST_CASE("a cache that is filled ahead is not filled while its rows are updated, but beside the dense part") {
  for (const char* const pipeline :
       {"prefetch_sparse_dist", "staged\nstages: [{does: copy}, {does: input_dist}, {does: prefetch}]"}) {
    for (const char* const kernel : {"fused_uvm_caching", "key_value"}) {
      CAPTURE(pipeline);
      CAPTURE(kernel);
      const Workload workload = one_table(
          0.6,
          fmt::format("pipeline: {}\ninput_exchange: full\ndense: {{layers: [{{name: top, in: 64, out: 4096}}]}}\n",
                      pipeline));
      const Program program = with_cache(workload, 0.2, kernel);
      const Timeline timeline = simulated(program, with_slow_link());
      const std::vector<OpRole> filling = {OpRole::fetch_rows, OpRole::prefetch_rows};
      CHECK(!beside(program, timeline, filling, OpRole::update));
      CHECK(beside(program, timeline, filling, OpRole::dense_forward));
    }
  }
}

namespace {

// Shares of a batch's different rows that a cache of `capacity` rows fetches, and for which it has no room, where it
// is filled while the batch before still trains, whose rows stay (FBGEMM's lxu_cache_locking_counter); of the later
// half of 200 batches.
std::pair<double, double> played_ahead(double s, std::size_t capacity) {
  constexpr int kNever = -1;
  DrawnIds ids(s, kNumbering);
  std::vector<int> used(kRows, kNever);  // [row] the batch that used it last, of those that the cache has
  std::vector<bool> trains(kRows);
  const auto used_of = [&](int row) -> int& { return used[static_cast<std::size_t>(row)]; };
  std::size_t held = 0;
  double fetched = 0, homeless = 0, rows = 0;
  for (int batch = 0; batch < 200; ++batch) {
    const std::vector<int> different = ids.next_different();
    std::vector<int> missed;
    for (const int row : different) used_of(row) == kNever ? missed.push_back(row) : void(used_of(row) = batch);
    std::vector<std::pair<int, int>> may_go;
    for (std::size_t row = 0; row < kRows; ++row)
      if (used[row] != kNever && used[row] < batch && !trains[row])
        may_go.emplace_back(used[row], static_cast<int>(row));
    std::ranges::sort(may_go);
    std::size_t taken = 0, gone = 0;
    for (; taken < missed.size() && (held < capacity || gone < may_go.size()); ++taken) {
      if (held == capacity) used_of(may_go[gone++].second) = kNever, --held;
      used_of(missed[taken]) = batch;
      ++held;
    }
    trains.assign(kRows, false);
    for (const int row : different) trains[static_cast<std::size_t>(row)] = used_of(row) != kNever;
    if (batch < 100) continue;
    rows += static_cast<double>(different.size());
    fetched += static_cast<double>(taken);
    homeless += static_cast<double>(missed.size() - taken);
  }
  return {fetched / rows, homeless / rows};
}

}  // namespace

// 0.2 of ten times as many rows: what TorchRec's benchmark leaves without room (prefetch_emo_0.2).
TEST_CASE("what a cache without room for two batches fetches is within 3 points of one that is played") {
  for (const double load_factor : {0.06, 0.07, 0.08, 0.2}) {
    CAPTURE(load_factor);
    const Program program =
        with_cache(one_table(0, "pipeline: prefetch_sparse_dist\ninput_exchange: full\n"), load_factor);
    const double different = first_in(program, OpRole::update)->distinct_rows.at(0);
    const double fetched = first_in(program, OpRole::prefetch_rows)->host_bytes.at(0) / (2 * kRowBytes * different);
    const double on_host = first_in(program, OpRole::update)->host_bytes.at(0) / (2 * kRowBytes * different);
    const auto [played, homeless] = played_ahead(0, static_cast<std::size_t>(load_factor * kRows));
    CHECK(std::abs(fetched - played) < 0.03);
    CHECK(std::abs(on_host - homeless) < 0.03);
  }
}

namespace {

// The same in sets of 32 rows, as FBGEMM has them (lru_cache_insert_kernel): of a set with n misses the n rows that
// were used longest ago may go, unless the batch that trains has them. Rows are used alike.
std::pair<double, double> played_in_sets(std::size_t capacity) {
  constexpr std::size_t kWays = 32;
  struct Slot {
    int row = -1, used = -1;
    bool trains = false;
  };
  std::mt19937_64 random(5);
  std::uniform_int_distribution<int> ids(0, static_cast<int>(kRows) - 1);
  std::vector<std::vector<Slot>> sets(capacity / kWays, std::vector<Slot>(kWays));
  double fetched = 0, homeless = 0, rows = 0;
  for (int batch = 0; batch < 200; ++batch) {
    std::set<int> different;
    for (int i = 0; i < kBatch; ++i) different.insert(ids(random));
    std::map<std::size_t, std::vector<int>> missed;
    for (const int row : different) {
      const std::size_t at = static_cast<std::size_t>(kNumbering * row) % sets.size();
      const auto found = std::ranges::find(sets[at], row, &Slot::row);
      found != sets[at].end() ? void(found->used = batch) : missed[at].push_back(row);
    }
    double taken = 0, all = 0;
    for (auto& [at, misses] : missed) {
      std::stable_sort(sets[at].begin(), sets[at].end(), [](const Slot& a, const Slot& b) { return a.used < b.used; });
      auto next = misses.begin();
      for (std::size_t way = 0; way < std::min(misses.size(), kWays); ++way) {
        Slot& slot = sets[at][way];
        if (slot.trains || slot.used == batch) continue;
        slot = {*next++, batch};
      }
      taken += static_cast<double>(next - misses.begin());
      all += static_cast<double>(misses.size());
    }
    for (std::vector<Slot>& set : sets)
      for (Slot& slot : set) slot.trains = slot.used == batch;
    if (batch < 100) continue;
    rows += static_cast<double>(different.size());
    fetched += taken;
    homeless += all - taken;
  }
  return {fetched / rows, homeless / rows};
}

}  // namespace

// Where a batch takes nearly all of the cache, sets that are full while others are not leave a point or two more
// without room.
TEST_CASE("sets of 32 rows change little of what a cache fetches and has no room for") {
  for (const double load_factor : {0.06, 0.08, 0.2}) {
    CAPTURE(load_factor);
    const Program program =
        with_cache(one_table(0, "pipeline: prefetch_sparse_dist\ninput_exchange: full\n"), load_factor);
    const double different = first_in(program, OpRole::update)->distinct_rows.at(0);
    const auto [fetched, homeless] = played_in_sets(static_cast<std::size_t>(load_factor * kRows));
    CHECK(std::abs(first_in(program, OpRole::prefetch_rows)->host_bytes.at(0) / (2 * kRowBytes * different) - fetched) <
          0.03);
    CHECK(std::abs(first_in(program, OpRole::update)->host_bytes.at(0) / (2 * kRowBytes * different) - homeless) <
          0.03);
  }
}

TEST_CASE("rows for which a cache has no room beside those of the batches in work are used in host memory") {
  const auto shares = [](const char* pipeline, double load_factor) {
    const Workload workload = one_table(0, fmt::format("pipeline: {}\ninput_exchange: full\n", pipeline));
    const Program program = with_cache(workload, load_factor);
    const Op &lookup = *first_in(program, OpRole::lookup), &update = *first_in(program, OpRole::update);
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

namespace {

// Rows of a batch that a cache of `capacity` rows leaves to the host's memory, and rows that it fetches, when it takes
// in a row only if that was used as often as the one that it drops (FBGEMM's lfu_cache_insert_kernel): means of the
// later half of 400 batches.
struct Played {
  double lookups = 0, rows = 0, fetched = 0;
};

Played played_by_use(double s, std::size_t capacity) {
  using Use = std::pair<int, int>;  // how often, row
  DrawnIds ids(s, kNumbering);
  std::vector<int> used(kRows, 0);
  std::vector<bool> cached(kRows);
  // The rows of the cache, the one that was used least on top. A row that was used since is put back when it gets
  // there.
  std::priority_queue<Use, std::vector<Use>, std::greater<>> least;
  const auto used_of = [&](int row) -> int& { return used[static_cast<std::size_t>(row)]; };
  const auto least_used = [&] {
    while (least.top().first != used_of(least.top().second)) {
      const int row = least.top().second;
      least.pop();
      least.emplace(used_of(row), row);
    }
    return least.top();
  };
  Played found;
  double lookups = 0, rows = 0;
  for (int batch = 0; batch < 400; ++batch) {
    std::map<int, int> times;
    for (const int row : ids.next()) ++times[row];
    std::vector<Use> others;
    for (const auto& [row, more] : times) {
      used_of(row) += more;
      if (!cached[static_cast<std::size_t>(row)]) others.emplace_back(used_of(row), row);
    }
    std::ranges::sort(others, std::greater<>());
    std::size_t taken = 0;
    for (; taken < others.size(); ++taken) {
      if (least.size() == capacity) {
        const Use dropped = least_used();
        if (dropped.first > others[taken].first) break;
        cached[static_cast<std::size_t>(dropped.second)] = false;
        least.pop();
      }
      cached[static_cast<std::size_t>(others[taken].second)] = true;
      least.push(others[taken]);
    }
    if (batch < 200) continue;
    found.fetched += static_cast<double>(taken);
    rows += static_cast<double>(times.size());
    for (const auto& [row, more] : times) {
      lookups += more;
      if (cached[static_cast<std::size_t>(row)]) continue;
      found.lookups += more;
      found.rows += 1;
    }
  }
  return {found.lookups / lookups, found.rows / rows, found.fetched / rows};
}

// Shares of the lookups and of the different rows that are in host memory, over all ranks.
std::pair<double, double> on_host(const Program& program, int ranks = 1) {
  const Op &lookup = *first_in(program, OpRole::lookup), &update = *first_in(program, OpRole::update);
  double lookups = 0, rows = 0, looked_up = 0, different = 0;
  for (std::size_t rank = 0; rank < static_cast<std::size_t>(ranks); ++rank) {
    looked_up += lookup.lookups.at(rank);
    different += update.distinct_rows.at(rank);
    lookups += lookup.host_bytes.at(rank) / kRowBytes;
    rows += update.host_bytes.at(rank) / (2 * kRowBytes);
  }
  return {lookups / looked_up, rows / different};
}

}  // namespace

TEST_CASE("a cache of the rows that are used most leaves to the host's memory what one does that is played") {
  for (const double s : {0.9, 1.05}) {
    for (const double load_factor : {0.01, 0.1, 0.4}) {
      CAPTURE(s);
      CAPTURE(load_factor);
      const Program program = with_cache(one_table(s, "cache_policy: lfu\n"), load_factor);
      const Played played = played_by_use(s, static_cast<std::size_t>(load_factor * kRows));
      CHECK(std::abs(on_host(program).first - played.lookups) < 0.03);
      CHECK(std::abs(on_host(program).second - played.rows) < 0.03);
      CHECK(first_in(program, OpRole::prefetch_rows)->host_bytes.at(0) == 0);
      CHECK(played.fetched < 0.1);  // and less with every batch
    }
  }
}

TEST_CASE("a cache of the rows that are used most holds no more than its capacity, however small that is") {
  const Cluster cluster = one_gpu();
  // Device memory and the host link are read beside each other: a row in a hundred on the host is a gain of so much.
  double before = 0.99 * simulated(with_cache(one_table(0), 1), cluster).iteration_ms;
  for (const double load_factor : {0.99, 0.5, 0.1, 0.01}) {
    CAPTURE(load_factor);
    const Program program = with_cache(one_table(0, "cache_policy: lfu\n"), load_factor);
    CHECK(on_host(program).first == doctest::Approx(1 - load_factor).epsilon(1e-6));
    CHECK(on_host(program).second == doctest::Approx(1 - load_factor).epsilon(3e-3));
    const double now = simulated(program, cluster).iteration_ms;
    CHECK(now > before);
    before = now;
  }
  const double in_host =
      simulated(with_cache(one_table(0, "cache_policy: lfu\n"), 1, "fused_uvm"), cluster).iteration_ms;
  CHECK(before < in_host);
  CHECK(before > 0.9 * in_host);
}

TEST_CASE("owners of rows leave together to host memory what one of all rows does") {
  for (const char* const more : {"", "index_dedup: true, "}) {
    const bool alone = std::string(more).empty();
    const Workload workload = read_workload(
        parse_yaml(fmt::format("schema: shardsim.workload/1\nname: one\nbatch_per_gpu: {}\noptimizer: {{name: "
                               "sgd}}\ncache_policy: lfu\ninput_exchange: full\ntables: [{{name: a, rows: {}, dim: "
                               "64, {}access: {{family: zipf, s: 1.05}}}}]\n",
                               kBatch, kRows,
                               alone ? "kind: pooled, pooling_factor: 1, "
                                     : std::string(more) + "kind: sequence, average_length: 1, "),
                   "one"),
        "");
    Placement placement = placed(0, Strategy::row_wise, {{0, 1, 2, 3, 4, 5, 6, 7}});
    placement.row_end = kRows;
    placement.compute_kernel = "fused_uvm_caching";
    placement.cache_load_factor = 0.1;
    const Program program = lowered_plan({{placement}}, workload, Cluster(cluster_spec("toy_2x4.yaml", 2)));
    const AccessDistribution law = workload.tables.front().distribution();
    const double cold = law.sum(kRows / 10, kRows) / law.total();
    const double different = law.expected_distinct(kRows / 10, kRows, kBatch * cold) /
                             law.expected_distinct(0, kRows, kBatch);  // of a rank's batch
    CHECK(on_host(program, 8).first == doctest::Approx(alone ? cold : different).epsilon(0.01));
  }
}

TEST_CASE("a cache of the rows that are used most is not filled ahead, as FBGEMM does not") {
  const auto refusal = [](double load_factor) -> std::string {
    return error_of([&] {
      with_cache(one_table(1, "cache_policy: lfu\npipeline: prefetch_sparse_dist\ninput_exchange: full\n"),
                 load_factor);
    });
  };
  CHECK(refusal(0.2).find("FBGEMM does not fill ahead") != std::string::npos);
  CHECK(refusal(1).empty());  // no cache
}

TEST_CASE("the bookkeeping of a cache grows with the rows that it holds, as TorchRec's estimate has it") {
  const Workload workload = one_table(1);
  const auto model = make_memory_model(named("torchrec"));
  for (const double load_factor : {0.02, 0.2, 0.9, 1.0}) {
    Placement placement = placed(0, Strategy::table_wise, {{0}});
    placement.row_end = kRows;
    placement.compute_kernel = "fused_uvm_caching";
    placement.cache_load_factor = load_factor;
    const std::int64_t counted = resident_memory({{placement}}, workload, 1).front()[MemoryPart::cache];
    CHECK(counted == std::llround(kRows * (4 + 16 * load_factor)));
    const PlacementMemory estimated = memory_on_rank({{placement}}, 0, workload, one_gpu(), *model);
    CHECK(std::abs(static_cast<double>(counted) - estimated.cache_bytes) <= 1);
  }
}

}  // namespace shardsim::caches_test
