#include <doctest/doctest.h>

#include <numeric>

#include "program/timeline/traffic.h"
#include "sim/engine/op_work.h"
#include "tests/physics/lab.h"

namespace shardsim::conservation_test {

// Bytes sent equal bytes received, in every matrix of every plan and in what the Timeline counts.

using namespace shardsim::physics;

namespace {

struct Setting {
  std::string cluster, workload;
};

std::vector<Setting> settings() {
  return {{"toy_2x4.yaml", "toy_history.yaml"},
          {"a100_mesh_4x8.yaml", "rm1.yaml"},
          {"a100_mesh_4x8.yaml", "rm2.yaml"},
          {"a100_mesh_4x8.yaml", "rm3.yaml"},
          {"a100_nvswitch_4x8.yaml", "rm4.yaml"}};
}

std::int64_t sum(const std::vector<std::int64_t>& values) {
  return std::accumulate(values.begin(), values.end(), std::int64_t{0});
}

// Rows of the flow matrix are what a rank sends, columns what it receives; nothing flows from a rank to itself.
void check_flow(const Timeline& timeline) {
  const int world = timeline.world_size;
  CHECK(sum(timeline.bytes_out) == sum(timeline.bytes_in));
  REQUIRE(timeline.flow.size() == static_cast<std::size_t>(world) * world);
  for (int rank = 0; rank < world; ++rank) {
    std::int64_t out = 0, in = 0;
    for (int other = 0; other < world; ++other) {
      out += timeline.flow[rank * world + other];
      in += timeline.flow[other * world + rank];
    }
    CHECK(out == timeline.bytes_out[rank]);
    CHECK(in == timeline.bytes_in[rank]);
    CHECK(timeline.flow[rank * world + rank] == 0);
  }
}

}  // namespace

TEST_CASE("bytes sent equal bytes received on every collective of every plan") {
  for (const Setting& setting : settings()) {
    const Cluster cluster(cluster_spec(setting.cluster));
    const Workload workload = shipped_workload(setting.workload);
    for (const std::string& planner : every_planner()) {
      CAPTURE(setting.workload);
      CAPTURE(planner);
      const Program program = lowered(planner, workload, cluster);
      std::int64_t wire = 0;
      for (const Op& op : program.ops) {
        if (op.op_class != OpClass::all_to_all) continue;
        const ByteMatrix matrix = resolve_matrix(program, op.matrix);
        const PairBytes bytes = pair_bytes(program, op, matrix);
        CHECK(sum(bytes.sent) == bytes.total);
        CHECK(sum(bytes.received) == bytes.total);
        wire += bytes.wire;
        const std::vector<int>& group = program.groups.at(op.group).front();
        const int members = static_cast<int>(group.size());
        for (int member = 0; member < members; ++member) {
          CHECK(matrix.bytes_sent(member, members) == bytes.sent[group[member]]);
          CHECK(matrix.bytes_received(member, members) == bytes.received[group[member]]);
        }
      }
      Timeline counted;
      counted.world_size = cluster.world_size();
      add_traffic(counted, program);
      check_flow(counted);
      CHECK(sum(counted.bytes_out) >= wire);
      if (wire > 0 && planner != "{name: flex}" && planner.find("flexshard") == std::string::npos) {
        CHECK(sum(counted.bytes_out) == wire);  // nothing is replicated, so nothing is reduced
      }
    }
  }
}

TEST_CASE("a simulated Timeline counts what its Program moves") {
  const Cluster cluster(cluster_spec("toy_2x4.yaml"));
  for (const std::string& planner : every_planner()) {
    CAPTURE(planner);
    const Program program = lowered(planner, shipped_workload("toy_history.yaml"), cluster);
    const Timeline timeline = simulated(program, cluster);
    check_flow(timeline);
    for (const Span& span : timeline.spans) {
      const Op& op = program.ops[span.op];
      if (op.op_class == OpClass::all_reduce) CHECK(span.bytes == op.bytes);
      if (op.op_class != OpClass::all_to_all) continue;
      const PairBytes bytes = pair_bytes(program, op, resolve_matrix(program, op.matrix));
      CHECK(span.bytes == std::max(bytes.sent[span.rank], bytes.received[span.rank]));
    }
  }
}

TEST_CASE("what a collective loads on links out of GPUs and NICs is loaded on links into them") {
  for (const Setting& setting : settings()) {
    const Cluster cluster(cluster_spec(setting.cluster));
    const Workload workload = shipped_workload(setting.workload);
    const auto compute = make_compute_model(named("roofline"));
    for (const std::string& planner : every_planner()) {
      CAPTURE(setting.workload);
      CAPTURE(planner);
      for (const OpWork& work : expand_ops(lowered(planner, workload, cluster), cluster, *compute, {})) {
        std::map<LinkKind, double> bytes;
        for (const OpWork::Call& call : work.calls) {
          for (const LinkLoad& load : call.loads.loads) bytes[cluster.links()[load.link].kind] += load.bytes;
        }
        CHECK(std::abs(bytes[LinkKind::nic_out] - bytes[LinkKind::nic_in]) <= 1e-9 * bytes[LinkKind::nic_out]);
        CHECK(std::abs(bytes[LinkKind::nvlink_out] - bytes[LinkKind::nvlink_in]) <= 1e-9 * bytes[LinkKind::nvlink_out]);
      }
    }
  }
}

}  // namespace shardsim::conservation_test
