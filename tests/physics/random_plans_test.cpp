#include <doctest/doctest.h>

#include <map>
#include <numeric>
#include <set>
#include <tuple>

#include "base/rng.h"
#include "base/tree/json.h"
#include "program/program_file.h"
#include "program/timeline/traffic.h"
#include "tests/physics/two_tables.h"

namespace shardsim::random_plans_test {

// Rules that hold for every plan of every mixture of sharding types: 30 random ones on 2 nodes of 4 ranks, pooled
// tables and sequences, whole numbers of ids per shard.

using namespace shardsim::physics;

namespace {

constexpr int kWorld = 8, kPerNode = 4;
constexpr std::int64_t kBatch = 64;

struct Setting {
  Workload workload;
  Plan plan;
};

std::vector<int> node_ranks(int node) {
  return {4 * node, 4 * node + 1, 4 * node + 2, 4 * node + 3};
}

void place(Plan& plan, int index, const Table& table, Rng& rng) {
  const auto strategy = static_cast<Strategy>(rng.below(8));
  const auto node = [&] { return node_ranks(static_cast<int>(rng.below(2))); };
  const auto rank = [&] { return static_cast<int>(rng.below(kWorld)); };
  const int home = rank() / kPerNode;  // of table_column_wise
  const std::int64_t blocks = in_columns(strategy) ? 1 + static_cast<std::int64_t>(rng.below(3)) : 1;
  for (std::int64_t block = 0; block < blocks; ++block) {
    Placement placement;
    placement.table = index;
    placement.row_end = table.rows;
    placement.column_begin = block * table.dim / blocks;
    placement.column_end = (block + 1) * table.dim / blocks;
    placement.strategy = strategy;
    placement.compute_kernel = default_kernel(strategy);
    placement.holders = {{strategy == Strategy::table_column_wise ? node_ranks(home)[rng.below(4)] : rank()}};
    if (strategy == Strategy::flex) placement.holders = {node_ranks(0), node_ranks(1)};
    if (strategy == Strategy::row_wise || strategy == Strategy::data_parallel) placement.holders = {all_ranks(kWorld)};
    if (strategy == Strategy::table_row_wise || strategy == Strategy::grid_shard) placement.holders = {node()};
    plan.placements.push_back(placement);
  }
}

Setting random_setting(std::uint64_t seed, const std::string& pipeline = "none", std::int64_t batch = kBatch) {
  Rng rng(seed);
  Setting setting;
  std::string text = fmt::format(
      "schema: shardsim.workload/1\nname: random\nbatch_per_gpu: {}\ninput_exchange: full\npipeline: {}\ntables:\n",
      batch, pipeline);
  for (int table = 0; table < 8; ++table) {
    const bool pooled = rng.below(2) == 0;
    text += fmt::format("  - {{name: t{}, rows: {}, dim: {}, kind: {}: {}}}\n", table, 800 * (1 + rng.below(5)),
                        48 * (1 + rng.below(3)), pooled ? "pooled, pooling_factor" : "sequence, average_length",
                        1 + rng.below(9));
  }
  setting.workload = read_workload(parse_yaml(text, "random"), "");
  for (std::size_t table = 0; table < setting.workload.tables.size(); ++table) {
    place(setting.plan, static_cast<int>(table), setting.workload.tables[table], rng);
  }
  return setting;
}

Program lowered_random(const Setting& setting) {
  return lowered_plan(setting.plan, setting.workload, toy_cluster());
}

std::int64_t sum(const std::vector<std::int64_t>& values) {
  return std::accumulate(values.begin(), values.end(), std::int64_t{0});
}

using Bytes8 = std::vector<std::int64_t>;

// Bytes of every rank by matrix, worked out from the plan alone: a = W X i and so on, as TorchRec's planner counts the
// input and output buffers of a shard (torchrec/distributed/planner/estimator).
struct Buffers {
  std::map<std::string, Bytes8> ids, rows;         // received, sent
  std::map<std::string, Bytes8> partial_per_node;  // pooled, reduced in nodes: by node
  std::map<std::string, std::int64_t> partial;     // pooled, reduced in the world
};

const std::map<Strategy, std::string>& prefixes() {
  static const std::map<Strategy, std::string> names = {
      {Strategy::table_wise, "tw"},          {Strategy::column_wise, "cw"},
      {Strategy::table_column_wise, "twcw"}, {Strategy::row_wise, "rw"},
      {Strategy::table_row_wise, "twrw"},    {Strategy::grid_shard, "gs"},
      {Strategy::data_parallel, "dp"},       {Strategy::flex, "flex"}};
  return names;
}

Buffers buffers_of(const Setting& setting) {
  Buffers buffers;
  for (const Placement& placement : setting.plan.placements) {
    if (placement.strategy == Strategy::data_parallel) continue;
    const Table& table = setting.workload.tables[static_cast<std::size_t>(placement.table)];
    const bool pooled = table.kind == TableKind::pooled;
    const std::string prefix = (pooled ? "pooled_" : "") + prefixes().at(placement.strategy);
    const auto ids = std::llround(static_cast<double>(kBatch) * table.average_length);  // X
    const std::int64_t vector_bytes = placement.columns() * 4;
    const bool flex = placement.strategy == Strategy::flex;
    const auto shards = static_cast<std::int64_t>(placement.holders.front().size());
    const std::int64_t sources = flex ? kPerNode : kWorld;
    buffers.ids[prefix].resize(kWorld);
    for (const std::vector<int>& group : placement.holders) {
      for (const int rank : group) buffers.ids[prefix][rank] += sources * ids / shards * 8;
    }
    if (!pooled || !in_rows(placement.strategy)) {
      buffers.rows[prefix].resize(kWorld);
      for (const std::vector<int>& group : placement.holders) {
        for (const int rank : group)
          buffers.rows[prefix][rank] += sources * (pooled ? kBatch : ids / shards) * vector_bytes;
      }
    } else if (placement.strategy == Strategy::row_wise || flex) {
      buffers.partial[prefix] += sources * kBatch * vector_bytes;
    } else {
      buffers.partial_per_node[prefix].resize(2);
      buffers.partial_per_node[prefix][placement.holders[0][0] / kPerNode] += sources * kBatch * vector_bytes;
    }
  }
  return buffers;
}

std::vector<std::int64_t> sizes_of(const Program& program, const Op& op) {
  std::vector<std::int64_t> sizes;
  for (std::size_t set = 0; set < program.groups.at(op.group).size(); ++set) sizes.push_back(op.bytes_of_set(set));
  return sizes;
}

}  // namespace

TEST_CASE("ids received and vectors sent are the planner's input and output buffers, shard by shard") {
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    CAPTURE(seed);
    const Setting setting = random_setting(seed);
    const Program program = lowered_random(setting);
    const Buffers buffers = buffers_of(setting);
    std::size_t met = 0;
    for (const Op& op : program.ops) {
      CAPTURE(carried(program, op));
      for (const auto& entry : buffers.ids) {
        if (carried(program, op) != entry.first + "_ids") continue;
        ++met;
        CHECK(moved(program, op).received == entry.second);
      }
      for (const auto& entry : buffers.rows) {
        if (carried(program, op) != entry.first + "_rows") continue;
        ++met;
        CHECK(moved(program, op).sent == entry.second);
      }
    }
    CHECK(met == buffers.ids.size() + buffers.rows.size());
    std::multiset<std::vector<std::int64_t>> expected, scattered, gathered;
    for (const auto& entry : buffers.partial) {
      expected.insert(std::vector<std::int64_t>(entry.first == "pooled_rw" ? 1 : 2, entry.second));
    }
    for (const auto& entry : buffers.partial_per_node) expected.insert(entry.second);
    for (const Op& op : program.ops) {
      if (op.op_class == OpClass::reduce_scatter) scattered.insert(sizes_of(program, op));
      if (op.op_class == OpClass::all_gather) gathered.insert(sizes_of(program, op));
    }
    CHECK(scattered == expected);
    CHECK(gathered == expected);
  }
}

TEST_CASE("bytes sent are bytes received, gradients go back the way of the vectors, all ranks of a group take part") {
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    CAPTURE(seed);
    const Program program = lowered_random(random_setting(seed));
    for (const Op& op : program.ops) {
      CAPTURE(op.name);
      if (!op.is_collective()) continue;
      CHECK(op.ranks.empty());
      if (op.op_class != OpClass::all_to_all) {
        CHECK(op.bytes > 0);
        continue;
      }
      const PairBytes bytes = moved(program, op);
      CHECK(bytes.total > 0);
      CHECK(sum(bytes.sent) == sum(bytes.received));
      if (op.role != OpRole::exchange_output) continue;
      const std::vector<int> back = ops_in_role(program, op.fusion, OpRole::exchange_gradient);
      REQUIRE(back.size() == 1);
      const PairBytes gradients = moved(program, program.ops[static_cast<std::size_t>(back.front())]);
      CHECK(gradients.sent == bytes.received);
      CHECK(gradients.received == bytes.sent);
    }
    Timeline counted;
    counted.world_size = kWorld;
    add_traffic(counted, program);
    CHECK(sum(counted.bytes_out) == sum(counted.bytes_in));
  }
}

TEST_CASE("twice the batch moves twice the ids, lengths and vectors; all-reduces and splits stay") {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    CAPTURE(seed);
    const Program once = lowered_random(random_setting(seed));
    const Program twice = lowered_random(random_setting(seed, "none", 2 * kBatch));
    REQUIRE(once.ops.size() == twice.ops.size());
    for (std::size_t i = 0; i < once.ops.size(); ++i) {
      const Op& op = once.ops[i];
      CAPTURE(op.name);
      REQUIRE(twice.ops[i].name == op.name);
      if (op.op_class == OpClass::all_reduce) CHECK(twice.ops[i].bytes == op.bytes);
      if (op.op_class == OpClass::reduce_scatter || op.op_class == OpClass::all_gather)
        CHECK(twice.ops[i].bytes == 2 * op.bytes);
      if (op.op_class != OpClass::all_to_all) continue;
      const std::int64_t factor = op.name == "input_splits_all_to_all" ? 1 : 2;
      CHECK(moved(twice, twice.ops[i]).total == factor * moved(once, op).total);
    }
  }
}

TEST_CASE("a Program of any mixture is written and read back") {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    for (const std::string pipeline : {"none", "sparse_dist", "prefetch_sparse_dist"}) {
      CAPTURE(seed);
      Program program = lowered_random(random_setting(seed, pipeline));
      program.case_name = "random";
      const std::string text = program_to_json(program);
      CHECK(program_to_json(program_from_tree(parse_json(text, "p"))) == text);
    }
  }
}

TEST_CASE("every mixture runs under every pipeline; no operation is lost and none overlaps another of its stream") {
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    for (const std::string pipeline : {"none", "sparse_dist", "prefetch_sparse_dist"}) {
      CAPTURE(seed);
      CAPTURE(pipeline);
      const Program program = lowered_random(random_setting(seed, pipeline));
      const Timeline timeline = simulated(program, toy_cluster());
      CHECK(timeline.iteration_ms > 0);
      CHECK(timeline.spans.size() == program.ops.size() * kWorld);
      std::map<std::pair<int, int>, double> ended;  // rank, stream
      std::vector<Span> spans = timeline.spans;
      std::sort(spans.begin(), spans.end(), [](const Span& a, const Span& b) {
        return std::tie(a.start_us, a.end_us) < std::tie(b.start_us, b.end_us);
      });
      for (const Span& span : spans) {
        double& end = ended[{span.rank, span.stream}];
        CHECK(span.start_us >= end - 1e-6);
        end = std::max(end, span.end_us);
      }
      for (const Span& span : timeline.spans) {
        const double alone = timeline.ops[static_cast<std::size_t>(span.op)].alone_us;
        const bool collective = program.ops[static_cast<std::size_t>(span.op)].is_collective();
        CHECK(span.end_us >= span.start_us);
        CHECK((collective || span.end_us - span.start_us <= alone * (1 + 1e-9) + 1e-6));
      }
    }
  }
}

}  // namespace shardsim::random_plans_test
