#include "sim/lower/group_member.h"

#include <cmath>

namespace shardsim {
namespace {

constexpr int kLengthBytes = 4;  // on the wire, as in TorchRec's KeyedJaggedTensor
constexpr int kWeightBytes = 4;

std::int64_t half_up(double value) {
  return static_cast<std::int64_t>(std::floor(value + 0.5));
}

double bags_per_sample(const Table& table) {
  double bags = 0;
  for (const Feature& feature : table.features) bags += feature.num_poolings;
  return bags;
}

// Part of a table's ids that belong to weighted features.
double weighted_share(const Table& table) {
  double all = 0, weighted = 0;
  for (const Feature& feature : table.features) {
    const double ids = feature.pooling_factor * feature.num_poolings;
    all += ids;
    if (feature.weighted) weighted += ids;
  }
  return all > 0 ? weighted / all : 0;
}

}  // namespace

std::vector<double> GroupMember::shares() const {
  std::vector<double> parts(placement->holders.front().size(), 1.0);
  if (placement->shards() < 2) return parts;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (placement->shard_rows(static_cast<int>(i)) == 0) parts[i] = 0;
  }
  return parts;
}

GroupMember make_member(int shard, const Placement& placement, const Workload& workload, bool observed_payload) {
  const Table& table = workload.tables[placement.table];
  GroupMember member{shard, &placement, &table, table.distribution()};
  const auto batch = static_cast<double>(workload.batch_per_gpu);
  const std::int64_t columns = placement.columns();
  member.items = {items_per_rank(placement, workload, member.access, observed_payload), workload.id_bytes};
  const double weighted = static_cast<double>(member.items.count) * weighted_share(table);
  const std::int64_t vectors = member.pooled() ? half_up(batch * bags_per_sample(table)) : member.items.count;
  member.weights = {half_up(weighted), kWeightBytes};
  member.lengths = {static_cast<std::int64_t>(table.features.size()) * workload.batch_per_gpu, kLengthBytes};
  member.row_bytes = columns * dtype_bytes(table.dtype);
  member.forward = {vectors, columns * dtype_bytes(wire_dtype(workload.wire_forward, table))};
  member.backward = {vectors, columns * dtype_bytes(wire_dtype(workload.wire_backward, table))};
  return member;
}

std::int64_t items_per_rank(const Placement& placement, const Workload& workload, const AccessDistribution& access,
                            bool observed_payload) {
  const Table& table = workload.tables[placement.table];
  const double per_sample = observed_payload && table.runtime
                                ? table.runtime->sum(access, placement.row_begin, placement.row_end)
                                : access.sum(placement.row_begin, placement.row_end);
  return half_up(static_cast<double>(workload.batch_per_gpu) * per_sample);
}

}  // namespace shardsim
