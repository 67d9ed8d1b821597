#include "plan/memory_model.h"
#include "plan/torchrec/bridge/given_plan.h"

namespace shardsim {
namespace {

// TorchRec's storage estimate of every shard, to the byte where TorchRec knows the sharding type (plan/torchrec/).
// Static: tensor, optimizer state and cache in device memory; what of them lies in host memory apart. Dynamic: the
// input and output buffers that the pipeline keeps. The FlexShard equations, which are not TorchRec's, keep their own
// parameters.
class TorchrecMemory : public MemoryModel {
 public:
  explicit TorchrecMemory(const torchrec::EstimateSettings& estimate) : estimate_(estimate) {}

  std::vector<PlacementMemory> on_ranks(const Placement& placement, const Workload& workload,
                                        const Cluster& cluster) const override {
    torchrec::PlannerRequest request;
    const auto index = static_cast<std::size_t>(placement.table);
    request.tables = {{torchrec::table_spec(workload.tables[index], workload), {}}};
    request.order = {index};
    request.settings.topology = torchrec::topology_of(cluster);
    request.settings.estimate = torchrec::settings_for(workload, estimate_);
    Plan alone;
    alone.placements = {placement};
    std::vector<PlacementMemory> memory(static_cast<std::size_t>(cluster.world_size()));
    for (const torchrec::GivenTable& given : torchrec::given_tables(alone, workload, request)) {
      const auto shards = torchrec::explain(given.option, given.table, given.ranks, request.settings.topology,
                                            request.settings.estimate);
      for (const torchrec::ShardExplanation& shard : shards) {
        const PlacementMemory each = of_shard(shard.storage, request.settings.topology.device == torchrec::Device::cpu);
        for (const int rank : shard.ranks) memory.at(static_cast<std::size_t>(rank)) += each;
      }
    }
    return memory;
  }

 private:
  static PlacementMemory of_shard(const torchrec::ShardStorage& storage, bool cpu) {
    const torchrec::Storage resident = storage.resident();
    PlacementMemory memory;
    memory.static_bytes = static_cast<double>(cpu ? resident.ddr : resident.hbm);
    memory.dynamic_bytes = static_cast<double>(cpu ? storage.buffers.ddr : storage.buffers.hbm);
    memory.host_bytes = cpu ? 0 : static_cast<double>(resident.ddr);
    if (storage.first_level_cache) return memory;
    memory.optimizer_bytes = static_cast<double>(cpu ? storage.optimizer.ddr : storage.optimizer.hbm);
    memory.cache_bytes = static_cast<double>(cpu ? 0 : storage.cache_aux);
    return memory;
  }

  torchrec::EstimateSettings estimate_;
};

}  // namespace

std::unique_ptr<MemoryModel> make_torchrec_memory(MapReader& options) {
  return std::make_unique<TorchrecMemory>(torchrec::read_estimate_settings(options));
}

}  // namespace shardsim
