#include <doctest/doctest.h>
#include <fmt/format.h>

#include <filesystem>

#include "base/rng.h"
#include "models/collective/algorithms/schedules.h"
#include "models/collective/fitted_overheads.h"
#include "models/collective/nccl/cost.h"
#include "sim/engine/op_work.h"
#include "tests/physics/lab.h"

// No answer has the wrong sign: faster hardware, fewer samples or fewer bytes make nothing slower, but where NCCL's own
// search or choice says so. 300 random scenarios with plans of every kind, and all shipped clusters.

namespace shardsim::faster_hardware_test {

using namespace shardsim::physics;

namespace {

constexpr double kRounding = 1e-9;  // relative
constexpr int kScenarios = 300;

template <class Value>
const Value& any_of(Rng& rng, const std::vector<Value>& values) {
  return values[rng.below(values.size())];
}

std::string any(Rng& rng, const std::vector<std::string>& words) {
  return any_of(rng, words);
}

std::string random_cluster(Rng& rng) {
  const int nodes = any_of<int>(rng, {1, 2, 4});
  std::string text = fmt::format(
      "schema: shardsim.cluster/1\nname: c\nnodes: {}\n"
      "gpu: {{model: toy, count: {}, compute_capability: '{}', hbm: 80 GiB, hbm_bandwidth: {} GB/s, "
      "flops: {{fp32: {} TFLOP/s}}}}\nnics: {{{}, rate: {} Gbit/s, transport: {}}}\nfits: {}\n",
      nodes, any_of<int>(rng, {2, 4}), any(rng, {"7.0", "8.0", "9.0"}), any(rng, {"900", "3350"}),
      any(rng, {"10", "60"}), any(rng, {"per_gpu: 1", "shared_by: 2"}), any(rng, {"25", "100", "200", "400"}),
      any(rng, {"infiniband", "roce", "tcp"}), any(rng, {"none", "open_data"}));
  if (rng.below(4) > 0)
    text += fmt::format("nvlink: {{kind: switch, links_per_gpu: {}}}\n", any(rng, {"6", "12", "18"}));
  if (nodes > 2 && rng.below(2) == 0)
    text += fmt::format("fabric: {{kind: fat_tree, nodes_per_leaf: {}, oversubscription: {}}}\n", any(rng, {"1", "2"}),
                        any(rng, {"2", "4"}));
  return text;
}

std::string random_workload(Rng& rng) {
  std::string text =
      fmt::format("schema: shardsim.workload/1\nname: w\nbatch_per_gpu: {}\npipeline: {}\ntables:\n",
                  any(rng, {"64", "512", "4096"}), any(rng, {"none", "sparse_dist", "prefetch_sparse_dist"}));
  const std::uint64_t tables = 1 + rng.below(4);
  for (std::uint64_t table = 0; table < tables; ++table)
    text += fmt::format("  - {{name: t{}, rows: {}, dim: {}, {}, access: {}}}\n", table,
                        any(rng, {"1000", "100000", "2000000"}), any(rng, {"32", "128"}),
                        any(rng, {"kind: pooled, pooling_factor: 10", "kind: sequence, average_length: 20"}),
                        any(rng, {"{family: uniform}", "{family: zipf, s: 1.1}"}));
  return text + "dense: {layers: [{name: top, in: 512, out: 512, repeat: 3}]}\n";
}

struct Simulated {
  std::vector<OpWork> works;
  double contended = 0, alone = 0;  // s per iteration, on fair_queues and on closed_form
  double busiest = 0;               // share
};

Simulated simulated_on(const Program& program, const ClusterSpec& spec) {
  const Cluster cluster(spec);
  const auto compute = make_compute_model(named("roofline"));
  const auto fair = make_network(named("fair_queues")), closed = make_network(named("closed_form"));
  Simulated result{expand_ops(program, cluster, *compute, {})};
  const SteadyIteration contended = steady_iteration(program, cluster, result.works, *fair, {});
  const SteadyIteration alone = steady_iteration(program, cluster, result.works, *closed, {});
  result.contended = contended.time.value;
  result.alone = alone.time.value;
  result.busiest = std::max(contended.busiest.share, alone.busiest.share);
  return result;
}

// NCCL's choice for a call: algorithm, protocol and channels.
std::string choice(const CollectiveCall& call, const CollectiveLoads& loads, const Cluster& cluster) {
  const NcclGraphs graphs = nccl_setup(call.ranks, cluster).graphs;
  return fmt::format("{} {} {} {}", loads.algorithm, loads.protocol, graphs.ring.count, graphs.nvls.count);
}

bool same_choices(const Program& program, const Op& op, const OpWork& before, const OpWork& after,
                  const ClusterSpec& slow, const ClusterSpec& fast) {
  const CollectiveCall call{*collective_kind(op.op_class), program.groups.at(op.group).front(), nullptr, op.bytes};
  return choice(call, before.calls.front().loads, Cluster(slow)) ==
         choice(call, after.calls.front().loads, Cluster(fast));
}

// True when no operation takes longer alone; checks that those that do are collectives for which NCCL chooses
// otherwise.
bool none_slower(const Program& program, const Simulated& slow, const Simulated& fast, const ClusterSpec& slow_spec,
                 const ClusterSpec& fast_spec) {
  bool none = true;
  for (std::size_t id = 0; id < program.ops.size(); ++id) {
    if (fast.works[id].alone.value <= slow.works[id].alone.value * (1 + kRounding)) continue;
    const Op& op = program.ops[id];
    CAPTURE(op.name);
    none = false;
    CHECK(op.is_collective());
    if (!op.is_collective()) continue;
    CHECK_FALSE(op.op_class == OpClass::all_to_all);
    CHECK_FALSE(same_choices(program, op, slow.works[id], fast.works[id], slow_spec, fast_spec));
  }
  return none;
}

using Lever = std::pair<const char*, void (*)(ClusterSpec&)>;

void twice(Bandwidth& rate) {
  rate = 2 * rate;
}

void faster_nics(ClusterSpec& spec) {
  twice(spec.nics->rate);
}

void faster_nvlinks(ClusterSpec& spec) {
  twice(spec.nvlink.per_link), twice(spec.nvlink.per_link_effective);
}

void faster_pcie(ClusterSpec& spec) {
  spec.pcie.generation += 1;
}

void faster_memory(ClusterSpec& spec) {
  twice(spec.gpu.hbm_bandwidth), twice(spec.gpu.copy_bandwidth), twice(spec.gpu.l2_bandwidth);
}

void faster_everything(ClusterSpec& spec) {
  faster_nics(spec), faster_nvlinks(spec), faster_pcie(spec), faster_memory(spec);
  for (auto& [precision, rate] : spec.gpu.flops) rate = {2 * rate.per_second};
}

const std::vector<Lever>& levers() {
  static const std::vector<Lever> all = {{"everything", faster_everything},
                                         {"NICs", faster_nics},
                                         {"NVLinks", faster_nvlinks},
                                         {"PCIe", faster_pcie},
                                         {"memory", faster_memory}};
  return all;
}

struct Setting {
  ClusterSpec spec;
  Workload workload;
  std::string planner;
};

Setting random_setting(std::uint64_t seed) {
  Rng rng(seed);
  const ClusterSpec spec = with_fits(read_cluster(parse_yaml(random_cluster(rng), "cluster")));
  const Workload workload = read_workload(parse_yaml(random_workload(rng), "workload"), "");
  return {spec, workload,
          any(rng, {"{name: row_wise}", "{name: table_wise}", "{name: data_parallel}", "{name: table_row_wise}",
                    "{name: column_wise, min_partition: 16}", "{name: flex}"})};
}

// Without contention an iteration is the longest way through its operations, so it is no longer if none of them is.
void check_levers(const Setting& setting) {
  const Program program = lowered(setting.planner, setting.workload, Cluster(setting.spec));
  const Simulated before = simulated_on(program, setting.spec);
  CHECK(before.busiest <= 1);
  for (const auto& [name, make_faster] : levers()) {
    CAPTURE(name);
    ClusterSpec faster = setting.spec;
    make_faster(faster);
    const Simulated after = simulated_on(program, faster);
    CHECK(after.busiest <= 1);
    if (!none_slower(program, before, after, setting.spec, faster)) continue;
    CHECK(after.alone <= before.alone * (1 + 1e-6));
    if (make_faster == faster_everything) CHECK(after.contended <= before.contended * (1 + 1e-6));
  }
}

// The time alone of each collective, or of every other operation, with what NCCL runs.
struct Alone {
  double seconds = 0;
  std::string choice;
};

std::vector<Alone> alone_times(const Program& program, const Simulated& simulated, bool collectives) {
  std::vector<Alone> times;
  for (std::size_t id = 0; id < program.ops.size(); ++id) {
    if (program.ops[id].is_collective() != collectives) continue;
    const OpWork& work = simulated.works[id];
    times.push_back(
        {work.alone.value, collectives ? work.calls.front().loads.algorithm + work.calls.front().loads.protocol : ""});
  }
  return times;
}

// Less to do: no collective takes longer alone, and with a smaller batch no other operation either, nor the iteration.
// Where NCCL goes over to a protocol of more bandwidth, a few bytes fewer can take longer.
void check_less_work(const Setting& setting, bool fewer_samples, const std::function<void(Workload&)>& halve) {
  const Cluster cluster(setting.spec);
  const Plan plan = planned(setting.planner, setting.workload, cluster);
  Workload half = setting.workload;
  halve(half);
  const Program program = lower(plan, setting.workload, cluster, {}), less = lower(plan, half, cluster, {});
  const Simulated all = simulated_on(program, setting.spec), part = simulated_on(less, setting.spec);
  CHECK(part.busiest <= 1);
  for (const bool collectives : {true, false}) {
    if (!collectives && !fewer_samples) continue;  // vectors are cast to the type of the wire
    const auto before = alone_times(program, all, collectives), after = alone_times(less, part, collectives);
    REQUIRE(before.size() == after.size());
    for (std::size_t i = 0; i < before.size(); ++i)
      if (before[i].choice == after[i].choice) CHECK(after[i].seconds <= before[i].seconds * (1 + kRounding));
  }
  if (fewer_samples) CHECK(part.contended <= all.contended * (1 + 1e-6));
}

}  // namespace

TEST_CASE("faster links, memory or everything make no operation slower, but where NCCL chooses otherwise") {
  for (std::uint64_t seed = 0; seed < kScenarios; ++seed) {
    CAPTURE(seed);
    check_levers(random_setting(seed));
  }
}

TEST_CASE("half the batch, and half the bytes on the wire, make no iteration slower") {
  for (std::uint64_t seed = 0; seed < kScenarios; ++seed) {
    CAPTURE(seed);
    const Setting setting = random_setting(seed);
    check_less_work(setting, true, [](Workload& workload) { workload.batch_per_gpu /= 2; });
    check_less_work(setting, false, [](Workload& workload) {
      workload.wire_forward = workload.wire_backward = WireDtype{Dtype::fp16};
    });
  }
}

TEST_CASE("no collective alone gets slower by faster links on any shipped cluster, but where NCCL chooses otherwise") {
  int seen = 0;
  for (const auto& entry : std::filesystem::directory_iterator(shipped_path("clusters"))) {
    CAPTURE(entry.path().filename().string());
    ClusterSpec spec = with_fits(cluster_spec(entry.path().filename().string()));
    if (spec.device == "cpu") continue;
    if (spec.nics && spec.gpu.count <= 16) spec.nodes = 2;
    const Cluster cluster(spec);
    for (const auto& [name, make_faster] : levers()) {
      if (make_faster == faster_memory || (make_faster != faster_nvlinks && make_faster != faster_pcie && !spec.nics))
        continue;
      CAPTURE(name);
      ClusterSpec faster_spec = spec;
      make_faster(faster_spec);
      const Cluster faster(faster_spec);
      for (const CollectiveKind kind : kAllCollectiveKinds) {
        CAPTURE(collective_kind_name(kind));
        for (std::int64_t bytes = 4096; bytes <= std::int64_t{1} << 30; bytes *= 16) {
          CAPTURE(bytes);
          const ByteMatrix even = even_matrix(bytes);
          const CollectiveCall call{kind, all_ranks(cluster.world_size()), &even, bytes};
          const CollectiveLoads slow = expand_collective(call, cluster, "auto"),
                                fast = expand_collective(call, faster, "auto");
          ++seen;
          if (fast.alone(faster).value <= slow.alone(cluster).value * (1 + kRounding)) continue;
          CHECK(choice(call, slow, cluster) != choice(call, fast, faster));
        }
      }
    }
  }
  CHECK(seen > 2000);
}

}  // namespace shardsim::faster_hardware_test
