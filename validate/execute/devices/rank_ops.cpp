#include "validate/execute/devices/rank_ops.h"

#include "base/error.h"

namespace shardsim {
namespace {

template <typename Body>
void naming(int rank, const Op& op, const Body& body) {
  try {
    body();
  } catch (const Error& error) {
    if (error.failure() == Failure::input) throw;
    throw run_error("rank " + std::to_string(rank) + ", " + op.name + ": " + error.what(), "");
  }
}

}  // namespace

RankOps::RankOps(const Program& program, int rank, bool check_data, DevicePort& device)
    : device_(device), actions_(program.ops.size()) {
  for (LookupBuffers& buffers : lookup_buffers(program, {}, rank)) {
    naming(rank, program.ops[static_cast<std::size_t>(buffers.fusion.lookup)], [&] {
      lookups_.push_back(std::make_unique<FusedLookup>(program, std::move(buffers), rank, check_data, device));
    });
    lookups_.back()->add_actions(actions_);
  }
  for (const Op& op : program.ops) {
    if (has(op.id) || !takes_part(program, op, rank)) continue;
    naming(rank, op, [&] { actions_[static_cast<std::size_t>(op.id)] = device.plain(op); });
  }
}

std::vector<int> RankOps::first_ids() const {
  std::vector<int> ops;
  for (const auto& lookup : lookups_) {
    const Fusion& fusion = lookup->fusion();
    if (fusion.ids_came_before && has(fusion.ids)) ops.push_back(fusion.ids);
  }
  return ops;
}

std::int64_t RankOps::bytes() const {
  std::int64_t bytes = device_.plain_bytes();
  for (const auto& lookup : lookups_) bytes += lookup->bytes();
  return bytes;
}

FusedLookup& RankOps::with(int lookup_op) const {
  for (const auto& lookup : lookups_) {
    if (lookup->fusion().lookup == lookup_op) return *lookup;
  }
  throw run_error("operation " + std::to_string(lookup_op) + " is no lookup", "");
}

std::vector<float> RankOps::shard_rows(int shard) const {
  for (const auto& lookup : lookups_) {
    std::vector<float> rows = lookup->shard_rows(shard);
    if (!rows.empty()) return rows;
  }
  return {};
}

void RankOps::load_rows(int shard, const std::vector<float>& rows) {
  for (const auto& lookup : lookups_) lookup->load_rows(shard, rows);
}

}  // namespace shardsim
