#include <algorithm>
#include <string>

#include "base/text.h"
#include "plan/memory_model.h"
#include "plan/plan.h"

namespace shardsim {
namespace {

// The FlexShard paper's cost model (table of costs per strategy), extended to slices and whole tables.
//
// Static: a row-wise, column-wise or table-wise holder keeps its part of the weights; a replicated one keeps m times
// its part (weights, dense gradient, optimizer states). Rows over shards count as a real number. Rows of fused_uvm lie
// in host memory; a cache of fused_uvm_caching holds its load factor of them.
//
// Dynamic, at the peak: c_dp copies of what one batch reads when nothing is sent. Where something is sent, half of the
// c_mp copies lie at the owners, which send to every rank that they serve, and half at each rank of the world, which
// receives its own batch. Spread evenly over all ranks this is the paper's c_mp B L D s; one owner of a whole table
// carries U times the sending half.
// A pooled table (not in the paper) sends one vector per bag; its row-wise owners hold partial sums for every bag of
// the ranks they serve, whatever the number of shards.
class PaperMemory : public MemoryModel {
 public:
  PaperMemory(double dp_static_multiplier, double mp_dynamic_copies, double dp_dynamic_copies)
      : static_multiplier_(dp_static_multiplier), mp_copies_(mp_dynamic_copies), dp_copies_(dp_dynamic_copies) {}

  std::vector<PlacementMemory> on_ranks(const Placement& placement, const Workload& workload,
                                        const Cluster& cluster) const override;
  bool counts_buffers() const override { return mp_copies_ > 0 || dp_copies_ > 0; }
  double replicated_row_factor() const override { return static_multiplier_; }

 private:
  void set_copies(CostParameters& cost) const override {
    cost.static_multiplier = static_multiplier_;
    cost.mp_copies = mp_copies_;
    cost.dp_copies = dp_copies_;
  }
  PlacementMemory of_holder(const Placement& placement, const Workload& workload, const Cluster& cluster,
                            double batch_bytes) const;

  double static_multiplier_, mp_copies_, dp_copies_;
};

double bags_per_sample(const Table& table) {
  double bags = 0;
  for (const Feature& feature : table.features) bags += feature.num_poolings;
  return bags;
}

double placement_row_bytes(const Placement& placement, const Table& table) {
  return static_cast<double>(placement.columns()) * dtype_bytes(table.dtype);
}

// Bytes of embedding vectors that one rank's batch takes from the placement.
double bytes_of_batch(const Placement& placement, const Workload& workload) {
  const Table& table = workload.tables[static_cast<std::size_t>(placement.table)];
  const double vectors = table.kind == TableKind::pooled
                             ? bags_per_sample(table)
                             : table.distribution().sum(placement.row_begin, placement.row_end);
  return batch_of(table, workload.batch_per_gpu) * vectors * placement_row_bytes(placement, table);
}

PlacementMemory PaperMemory::of_holder(const Placement& placement, const Workload& workload, const Cluster& cluster,
                                       double batch_bytes) const {
  const Table& table = workload.tables[static_cast<std::size_t>(placement.table)];
  const double shards = placement.shards();
  const double rows = static_cast<double>(placement.rows()) * hbm_share(placement);
  double weights = rows / shards * placement_row_bytes(placement, table);
  if (placement.most_l1) weights = std::min(weights, static_cast<double>(placement.most_l1->count));
  const double copies = replicated(placement.strategy) ? static_multiplier_ : 1.0;
  if (placement.strategy == Strategy::data_parallel) return {copies * weights, dp_copies_ * batch_bytes};
  // States lie where the rows do; those on the GPU are counted with the simulated peak.
  const double row_with_state = placement_row_bytes(placement, table) +
                                static_cast<double>(optimizer_row_bytes(workload.optimizer, placement.columns()));
  const double on_node = on_host(placement) ? static_cast<double>(placement.rows()) / shards * row_with_state : 0;
  const double served = cluster.world_size() / static_cast<double>(placement.holders.size());
  const double senders = table.kind == TableKind::pooled ? 1.0 : shards;
  return {copies * weights, mp_copies_ / 2 * batch_bytes * served / senders, on_node};
}

std::vector<PlacementMemory> PaperMemory::on_ranks(const Placement& placement, const Workload& workload,
                                                   const Cluster& cluster) const {
  const double batch_bytes = bytes_of_batch(placement, workload);
  const bool sent = placement.strategy != Strategy::data_parallel;
  const PlacementMemory user{0, sent ? mp_copies_ / 2 * batch_bytes : 0, 0};
  std::vector<PlacementMemory> memory(static_cast<std::size_t>(cluster.world_size()), user);
  const PlacementMemory holder = of_holder(placement, workload, cluster, batch_bytes);
  for (const std::vector<int>& group : placement.holders) {
    for (std::size_t i = 0; i < group.size(); ++i) {
      // Shards of whole buckets differ by a bucket, which may be large; others by a row.
      const double part = placement.bucket_rows == 1 ? 1
                                                     : static_cast<double>(placement.shard_rows(static_cast<int>(i))) *
                                                           placement.shards() / static_cast<double>(placement.rows());
      PlacementMemory& here = memory.at(static_cast<std::size_t>(group[i]));
      here.static_bytes += part * holder.static_bytes;
      here.dynamic_bytes += holder.dynamic_bytes;
      here.host_bytes += part * holder.host_bytes;
    }
  }
  return memory;
}

double at_least(MapReader& options, std::string_view key, double least, double fallback) {
  return options.real(key, Bounds::from(least).to(1e6), fallback);
}

}  // namespace

std::unique_ptr<MemoryModel> make_paper_memory(MapReader& options) {
  const double multiplier = at_least(options, "dp_static_multiplier", 1, 6);
  const double mp_copies = at_least(options, "mp_dynamic_copies", 0, 2);
  const double dp_copies = at_least(options, "dp_dynamic_copies", 0, 1);
  if (mp_copies < dp_copies) {
    throw input_error(options.place_of("mp_dynamic_copies"), "mp_dynamic_copies is below dp_dynamic_copies",
                      "A row that is sent needs at least as many copies as one that is not");
  }
  return std::make_unique<PaperMemory>(multiplier, mp_copies, dp_copies);
}

}  // namespace shardsim
