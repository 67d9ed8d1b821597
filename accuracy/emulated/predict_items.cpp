#include <algorithm>
#include <map>

#include "accuracy/emulated/campaign.h"
#include "base/files.h"
#include "base/tree/yaml.h"
#include "base/workers.h"
#include "models/compute/compute_model.h"
#include "sim/engine/engine.h"
#include "sim/engine/network.h"
#include "study/scenario/scenario.h"

namespace shardsim {
namespace {

std::string simulated(const Program& program, const Cluster& cluster) {
  EngineOptions options;
  options.iterations = 1;
  const auto compute = make_compute_model(named_map("roofline"));
  const auto network = make_network(named_map("simgrid"));
  return to_bytes(simulate(program, cluster, *compute, *network, options).timeline);
}

}  // namespace

std::vector<Timeline> predict_items(const std::vector<CampaignItem>& items, const ClusterSpec& spec) {
  const Cluster cluster(spec);
  std::vector<WorkerTask> tasks;
  for (const CampaignItem& item : items) {
    tasks.push_back({item.label(), [&item, &cluster] { return simulated(item.program, cluster); }});
  }
  std::vector<Timeline> timelines;
  for (const std::string& bytes : run_in_workers(tasks, {})) timelines.push_back(timeline_from_bytes(bytes));
  return timelines;
}

ClusterSpec emulated_cluster_spec(const NodeShape& shape) {
  const std::string folder = (data_folder() / "scenarios").string();
  ClusterSpec spec = read_cluster(load_named("emulated_2x4", "clusters", folder, {}));
  spec.nodes = shape.nodes;
  spec.gpu.count = shape.ranks_per_node;
  return spec;
}

ClusterSpec with_rate_share(ClusterSpec cluster, double share) {
  cluster.nvlink.per_link = share * cluster.nvlink.per_link;
  cluster.nvlink.per_link_effective = share * cluster.nvlink.per_link_effective;
  if (cluster.nics) cluster.nics->rate = share * cluster.nics->rate;
  return cluster;
}

ClusterSpec with_straggler(ClusterSpec cluster, int rank) {
  FaultSpec fault;
  fault.node = rank / cluster.gpu.count;
  fault.nic = rank % cluster.gpu.count;
  fault.rate_factor = 0.5;
  cluster.faults.push_back(fault);
  return cluster;
}

std::vector<double> makespans_ms(const Timeline& timeline, std::optional<int> stream) {
  std::map<int, double> first, last;
  for (const Span& span : timeline.spans) {
    double& start = first.try_emplace(span.iteration, span.start_us).first->second;
    start = std::min(start, span.start_us);
    if (span.stream != stream.value_or(span.stream)) continue;
    double& end = last[span.iteration];
    end = std::max(end, span.end_us);
  }
  std::vector<double> lengths;
  for (const auto& [iteration, end] : last) lengths.push_back((end - first.at(iteration)) / 1e3);
  return lengths;
}

}  // namespace shardsim
