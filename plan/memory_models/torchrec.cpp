#include "plan/memory_model.h"
#include "plan/torchrec/bridge/given_plan.h"
#include "plan/torchrec/estimate/shard_estimate.h"

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
    const torchrec::RunSettings settings = settings_for(workload, cluster);
    torchrec::PlannerRequest request;
    const auto index = static_cast<std::size_t>(placement.table);
    request.tables = {{torchrec::table_spec(workload.tables[index], workload), {}}};
    request.order = {index};
    request.settings = settings;
    Plan alone;
    alone.placements = {placement};
    std::vector<PlacementMemory> memory(static_cast<std::size_t>(cluster.world_size()));
    for (const torchrec::GivenTable& given : torchrec::given_tables(alone, workload, request))
      add(memory, given, settings);
    return memory;
  }

  double dp_static_multiplier() const override { return 6; }
  double mp_dynamic_copies() const override { return 2; }
  double dp_dynamic_copies() const override { return 1; }

 private:
  torchrec::RunSettings settings_for(const Workload& workload, const Cluster& cluster) const {
    torchrec::RunSettings settings;
    settings.topology = torchrec::topology_of(cluster);
    settings.estimate = torchrec::settings_for(workload, estimate_);
    return settings;
  }

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

  static void add(std::vector<PlacementMemory>& memory, const torchrec::GivenTable& given,
                  const torchrec::RunSettings& settings) {
    const torchrec::ShardingOption& option = given.option;
    const auto load = torchrec::batch_load(given.table, settings.estimate.batch_size);
    const auto stored =
        torchrec::table_storage(given.table, option.kernel, settings.topology.device, settings.estimate.rules);
    std::size_t shard = 0;
    for (const torchrec::ShardRun& run : option.runs) {
      const auto storage = torchrec::shard_storage(given.table, stored, option.type, option.kernel, settings.topology,
                                                   settings.estimate, run.rows, run.cols, load);
      const bool cpu = settings.topology.device == torchrec::Device::cpu;
      const PlacementMemory each = of_shard(storage, cpu);
      for (int i = 0; i < run.count; ++i) memory.at(static_cast<std::size_t>(given.ranks[shard++])) += each;
    }
  }

  torchrec::EstimateSettings estimate_;
};

}  // namespace

std::unique_ptr<MemoryModel> make_torchrec_memory(MapReader& options) {
  return std::make_unique<TorchrecMemory>(torchrec::read_estimate_settings(options));
}

}  // namespace shardsim
