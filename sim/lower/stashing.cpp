#include <algorithm>
#include <utility>
#include <vector>

#include "sim/lower/lowering.h"

namespace shardsim {
namespace {

// Adds the bytes of the rows that each rank holds of the shard.
void add_rows_held(const Program& program, const Program::Shard& shard, std::vector<double>& bytes) {
  const Dtype dtype = program.tables[static_cast<std::size_t>(shard.table)].dtype;
  const auto row_bytes = static_cast<double>(shard.columns() * dtype_bytes(dtype));
  const bool is_cut = shard.shards() > 1;
  for (const std::vector<int>& holders : shard.holders) {
    for (std::size_t position = 0; position < holders.size(); ++position) {
      const std::uint64_t rows = shard.shard_rows(is_cut ? static_cast<int>(position) : 0);
      bytes[static_cast<std::size_t>(holders[position])] += static_cast<double>(rows) * row_bytes;
    }
  }
}

}  // namespace

bool Lowering::stays(int shard) const {
  const std::vector<std::string>& keep = workload_.stash->keep;
  const Table& table = program_.tables[static_cast<std::size_t>(program_.shard(shard).table)];
  return std::ranges::find(keep, table.name) != keep.end();
}

// Bytes of each rank: rows in device memory that a fused update trains.
std::vector<double> Lowering::stashed_bytes() const {
  std::vector<double> bytes(static_cast<std::size_t>(program_.world_size), 0.0);
  for (const FusionGroup& fused : groups_) {
    for (const LookupPart& part : fused.parts) {
      if (part.memory != RowMemory::hbm || part.dense_gradient) continue;
      for (const int shard : part.shards) {
        if (!stays(shard)) add_rows_held(program_, program_.shard(shard), bytes);
      }
    }
  }
  return bytes;
}

// Behind all lookups, in one copy. Where all rows stay on the device, there is none.
void Lowering::stash_rows() {
  if (!workload_.stash || turn_ >= 0) return;
  std::vector<double> bytes = stashed_bytes();
  if (std::ranges::all_of(bytes, [](double each) { return each == 0; })) return;
  std::vector<int> lookups;
  for (const GroupOps& ops : ops_) lookups.insert(lookups.end(), ops.lookups.begin(), ops.lookups.end());
  stash_ = add("stash_rows", {OpRole::stash_rows}, Stream::stash, lookups);
  op_at(stash_).host_bytes.values = std::move(bytes);
}

// The copy back waits for what the host has launched on the compute stream, and for the rows to be away.
void Lowering::restore_rows() {
  if (stash_ < 0 || restore_ >= 0) return;
  const int compute = stream_number(Stream::compute);
  const auto last =
      std::find_if(program_.ops.rbegin(), program_.ops.rend(), [&](const Op& op) { return op.stream == compute; });
  const int behind = last == program_.ops.rend() ? -1 : last->id;
  restore_ = add("restore_rows", {OpRole::restore_rows}, Stream::memcpy, {stash_, behind});
  op_at(restore_).host_bytes = op_at(stash_).host_bytes;
}

void Lowering::restore_rows_before(const DenseStep& step) {
  if (!workload_.stash) return;
  const auto is_named = [&](const LayerRun& run) {
    return workload_.dense.layers[static_cast<std::size_t>(run.layer)].name == workload_.stash->restore_at;
  };
  if (std::ranges::any_of(step.layers, is_named)) restore_rows();
}

}  // namespace shardsim
