#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "base/text.h"
#include "models/collective/collective_prediction.h"
#include "plan/planner.h"
#include "plan/torchrec/bridge/planner_request.h"
#include "plan/torchrec/spec/topology.h"
#include "python/core/bindings.h"
#include "python/core/request.h"
#include "study/planning/prepared_case.h"
#include "study/scenario/read_planner.h"

namespace shardsim::python {
namespace {

// The cluster of a case as TorchRec's planner takes a machine: its ranks, capacities and rates, and what a collective
// takes on it. Of 2D parallelism it is the part of one sharding group.
class Machine {
 public:
  // Errors: those of chosen_case(), of the cluster, and of the planner's options where the case's is TorchRec's.
  Machine(const Request& request, const std::string& case_name);

  // The rates and capacities of the cluster, and what `topology` of the case's planner states in their place.
  const torchrec::Topology& topology() const { return topology_; }
  // Bytes of vectors that a rank gets for its batch, which is what it sends where tables are spread evenly.
  std::int64_t exchange_bytes() const { return exchange_bytes_; }
  // Milliseconds of a collective alone among `ranks`, `per_host` of them in each host, while the other GPUs of these
  // hosts do the same in groups of their own. `bytes` as nccl-tests counts them. Errors (Failure::input): an unknown
  // kind; ranks that do not divide by the hosts; more than the machine has.
  double collective_ms(const std::string& kind, int per_host, int ranks, std::int64_t bytes) const;

 private:
  explicit Machine(const Case& item);
  int host_size() const { return topology_.local_world_size; }

  Cluster cluster_;
  torchrec::Topology topology_;
  std::int64_t exchange_bytes_ = 0;
};

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

py::dict topology_dict(const torchrec::Topology& of) {
  py::dict dict;
  dict["world_size"] = of.world_size;
  dict["local_world_size"] = of.local_world_size;
  dict["compute_device"] = std::string(torchrec::name_of(of.device));
  dict["hbm_cap"] = of.devices.front().hbm;
  dict["ddr_cap"] = of.devices.front().ddr;
  dict["hbm_mem_bw"] = of.hbm_bandwidth;
  dict["ddr_mem_bw"] = of.ddr_bandwidth;
  dict["hbm_to_ddr_mem_bw"] = of.hbm_to_ddr_bandwidth;
  dict["intra_host_bw"] = of.intra_host_bandwidth;
  dict["inter_host_bw"] = of.inter_host_bandwidth;
  return dict;
}

}  // namespace

void bind_machine(py::module_& module) {
  py::class_<Machine>(module, "Machine")
      .def(py::init([](const Request& request, const std::string& name) {
             return without_gil([&] { return std::make_unique<Machine>(request, name); });
           }),
           py::arg("request"), py::arg("case"))
      .def("topology", [](const Machine& machine) { return topology_dict(machine.topology()); })
      .def("exchange_bytes", &Machine::exchange_bytes)
      .def(
          "collective_ms",
          [](const Machine& machine, const std::string& kind, int per_host, int ranks, std::int64_t bytes) {
            return without_gil([&] { return machine.collective_ms(kind, per_host, ranks, bytes); });
          },
          py::arg("kind"), py::arg("per_host"), py::arg("ranks"), py::arg("bytes"));
}

}  // namespace shardsim::python
