#include "validate/execute/devices/rank_ops.h"

#include <algorithm>
#include <cmath>

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

RankOps::RankOps(const IterationPrograms& programs, int rank, bool check_data, DevicePort& device)
    : programs_(programs), device_(device), actions_(programs.first().ops.size()) {
  const Program& first = programs.first();
  for (std::vector<LookupBuffers>& turns : lookup_buffers(programs, rank)) {
    naming(rank, first.op(turns.front().fusion.lookup), [&] {
      lookups_.push_back(std::make_unique<FusedLookup>(programs, std::move(turns), rank, check_data, device));
    });
    lookups_.back()->add_actions(actions_);
  }
  for (const Op& op : first.ops) {
    if (has(op.id) || !takes_part(first, op, rank)) continue;
    naming(rank, op, [&] {
      actions_[static_cast<std::size_t>(op.id)] = op.is_collective() ? moving(op.id, rank) : working(op.id, rank);
    });
  }
}

// As many bytes as the operation has.
Action RankOps::moving(int id, int rank) {
  const Op& first = programs_.first().op(id);
  const bool in_place = first.op_class != OpClass::all_to_all && first.op_class != OpClass::send_recv;
  std::vector<std::int64_t> sent;  // [Program]
  CollectiveBytes most;
  for (std::size_t turn = 0; turn < programs_.size(); ++turn) {
    const CollectiveBytes sizes = collective_bytes(programs_[turn], programs_[turn].op(id), rank);
    sent.push_back(sizes.in);
    most = {std::max(most.in, sizes.in), std::max(most.out, sizes.out)};
  }
  const DeviceMemory in = device_.memory(most.in, "what it sends");
  const DeviceMemory out = in_place ? in : device_.memory(most.out, "what it receives");
  plain_bytes_ += in.bytes() + (in_place ? 0 : out.bytes());
  return [this, id, in, out, sent](int iteration) {
    const std::size_t turn = programs_.turn(iteration);
    device_.collective(programs_[turn].op(id), in.as<void>(), out.as<void>(), sent[turn]);
  };
}

Action RankOps::working(int id, int rank) {
  std::vector<Action> turns;
  for (std::size_t turn = 0; turn < programs_.size(); ++turn) {
    const Program& program = programs_[turn];
    const Op& op = program.op(id);
    turns.push_back(working(op, value_on(program, op, op.flops, rank), value_on(program, op, op.hbm_bytes, rank)));
  }
  return [this, turns](int iteration) { turns[programs_.turn(iteration)](iteration); };
}

namespace {

// Products of side x side x side matrices, the last one with fewer rows.
std::int64_t side_of(double flops, const DevicePort::DenseLimits& limits) {
  const auto side = static_cast<std::int64_t>(std::cbrt(flops / 2) / 64) * 64;
  return std::clamp(side, limits.least_side, limits.most_side);
}

}  // namespace

// So many floating-point operations, and so many bytes read and written; or as long as was measured elsewhere.
Action RankOps::working(const Op& op, double flops, double bytes) {
  if (op.fixed_ns > 0) return [this, &op](int) { device_.pass(op.fixed_ns, op.stream); };
  const DevicePort::DenseLimits limits = device_.prepare_dense(op.stream);
  const auto half = static_cast<std::int64_t>(bytes / 2);
  const std::int64_t side = side_of(flops, limits);
  Dense& dense = dense_[op.stream];
  if (flops > 0) {
    for (DeviceMemory* matrix : {&dense.a, &dense.b, &dense.c}) {
      grow(*matrix, side * side * static_cast<std::int64_t>(sizeof(float)), "a matrix of the dense part");
    }
  }
  for (DeviceMemory* buffer : {&dense.from, &dense.to}) {
    grow(*buffer, std::min(half, limits.copied), "bytes of the dense part");
  }
  const auto rows = static_cast<std::int64_t>(flops / (2.0 * static_cast<double>(side * side)) + 0.5);
  return [this, &dense, rows, side, half, stream = op.stream](int) {
    multiply(dense, rows, side, stream);
    copy(dense, half, stream);
  };
}

void RankOps::grow(DeviceMemory& memory, std::int64_t bytes, const char* what) {
  if (memory.bytes() >= bytes) return;
  plain_bytes_ -= memory.bytes();
  memory = {};
  memory = device_.memory(bytes, what);
  plain_bytes_ += memory.bytes();
  device_.fill_rows(ElementType::fp32, memory.bytes() / static_cast<std::int64_t>(sizeof(float)), 1, memory.as<void>());
}

void RankOps::multiply(const Dense& dense, std::int64_t rows, std::int64_t side, int stream) {
  for (; rows > 0; rows -= side) {
    device_.multiply(std::min(rows, side), side, dense.a.as<float>(), dense.b.as<float>(), dense.c.as<float>(), stream);
  }
}

void RankOps::copy(const Dense& dense, std::int64_t bytes, int stream) {
  while (bytes > 0) {
    const std::int64_t part = std::min(bytes, dense.from.bytes());
    device_.copy_blocks(dense.to.as<void>(), part, dense.from.as<void>(), part, part, 1, stream);
    bytes -= part;
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
  std::int64_t bytes = plain_bytes_;
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
