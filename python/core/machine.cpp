#include "python/core/machine.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/text.h"
#include "models/collective/collective_prediction.h"
#include "plan/planner.h"
#include "plan/torchrec/bridge/planner_options.h"
#include "study/planning/prepared_case.h"
#include "study/scenario/read_planner.h"

namespace shardsim::python {
namespace {

torchrec::Topology topology_in(const Case& item, const Cluster& cluster) {
  const bool own = item.plan_file.empty() && item.planner.find("name")->scalar == "torchrec";
  Tree map = own ? item.planner : named_map("torchrec"), memory = item.memory_model;
  share_torchrec_rules(map, memory);
  MapReader reader(map, "planner");
  reader.name("name");
  const torchrec::PlannerOptions options = torchrec::read_planner_options(reader);
  torchrec::Topology topology = torchrec::planner_request(options, item.workload, cluster).settings.topology;
  if (cluster.spec().gpus_per_host > 0) topology.local_world_size = cluster.spec().gpus_per_host;
  return topology;
}

double vectors_of_sample(const Table& table) {
  if (!table.vector_per_feature()) return table.average_length;
  double vectors = 0;
  for (const Feature& feature : table.features) vectors += feature.num_poolings;
  return vectors;
}

std::int64_t exchange_bytes_of(const Workload& workload) {
  double bytes = 0;
  for (const Table& table : workload.tables)
    bytes += vectors_of_sample(table) * batch_of(table, workload.batch_per_gpu) * static_cast<double>(table.dim) *
             least_wire_bytes(forward_wire(workload, table));
  return std::max<std::int64_t>(1, std::llround(bytes));
}

CollectiveKind kind_named(const std::string& name) {
  const auto kind = collective_kind_named(name);
  if (!kind)
    throw input_error({"collective_type"}, "unknown collective " + excerpt(name),
                      known_names_hint(name, collective_kind_names()));
  return *kind;
}

// One group takes GPUs `first` to `first` + `per_host` of each of its hosts.
std::vector<int> group_from(int first, int per_host, int ranks, int host_size) {
  std::vector<int> group;
  for (int host = 0; host < ranks / per_host; ++host)
    for (int gpu = 0; gpu < per_host; ++gpu) group.push_back(host * host_size + first + gpu);
  return group;
}

void check_group(int per_host, int ranks, int host_size, int world_size) {
  if (per_host < 1 || ranks < 1)
    throw input_error({"world_size"}, fmt::format("{} ranks, {} in each host, are no group", ranks, per_host),
                      "Give both from 1 up");
  if (ranks % per_host != 0)
    throw input_error({"world_size"}, fmt::format("{} ranks do not divide by {} in each host", ranks, per_host),
                      "Give a multiple of local_world_size");
  if (per_host > host_size)
    throw input_error({"local_world_size"},
                      fmt::format("{} ranks in a host: the machine's hosts have {} GPUs", per_host, host_size),
                      "Give the Topology the local_world_size of the cluster");
  if (static_cast<std::int64_t>(ranks) / per_host * host_size > world_size)
    throw input_error({"world_size"},
                      fmt::format("{} ranks, {} in each host, take {} hosts, and the machine has {}", ranks, per_host,
                                  ranks / per_host, world_size / host_size),
                      "Give the scenario as many nodes as the Topology has");
}

}  // namespace

Machine::Machine(const Request& request, const std::string& case_name)
    : Machine(chosen_case(request, case_name).item()) {}

Machine::Machine(const Case& item)
    : cluster_(cluster_of_plan(item)),
      topology_(topology_in(item, cluster_)),
      exchange_bytes_(exchange_bytes_of(item.workload)) {}

double Machine::collective_ms(const std::string& kind, int per_host, int ranks, std::int64_t bytes) const {
  per_host = std::min(per_host, ranks);
  check_group(per_host, ranks, host_size(), cluster_.world_size());
  if (bytes < 1) throw input_error({"bytes"}, fmt::format("{} bytes", bytes), "Give 1 or more");
  CollectiveQuestion question;
  question.kind = kind_named(kind);
  question.bytes = bytes;
  question.ranks = group_from(0, per_host, ranks, host_size());
  for (int first = per_host; first + per_host <= host_size(); first += per_host)
    question.beside.push_back(group_from(first, per_host, ranks, host_size()));
  return predict_collective(question, cluster_).time.value * 1e3;
}

}  // namespace shardsim::python
