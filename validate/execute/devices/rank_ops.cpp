#include "validate/execute/devices/rank_ops.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/error.h"
#include "base/rng.h"
#include "models/compute/cubes.h"

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

// In iterations 0, N, 2 N ... of `every: N`.
Action rarely(int every, Action action) {
  if (every <= 1) return action;
  return [every, action = std::move(action)](int iteration) {
    if (iteration % every == 0) action(iteration);
  };
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
      Action& action = actions_[static_cast<std::size_t>(op.id)];
      if (op.role == OpRole::average_replicas) {
        action = averaging(op, rank);
      } else {
        action = rarely(op.every, op.is_collective() ? moving(op.id, rank) : working(op.id, rank));
      }
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

namespace {

// Rows come first, type after type, then states, which are fp32.
bool averages_states(const Program& program, const Op& op) {
  if (op.dtype != "fp32") return false;
  const auto of_fp32 = [&](const Program::Shard& shard) {
    return averaged(shard) && program.tables[static_cast<std::size_t>(shard.table)].dtype == Dtype::fp32;
  };
  const bool rows = std::ranges::any_of(program.shards, of_fp32);
  const auto same = [&](const Op& other) { return other.role == op.role && other.dtype == op.dtype; };
  return !rows || std::ranges::find_if(program.ops, same)->id != op.id;
}

}  // namespace

// A check of the data trains without states, and moves their bytes all the same.
Action RankOps::averaging(const Op& op, int rank) {
  const Program& program = programs_.first();
  const bool states = averages_states(program, op);
  std::vector<DeviceMemory> memory;
  std::int64_t bytes = 0;
  for (const auto& lookup : lookups_) {
    for (DeviceMemory& part : states ? lookup->averaged_states() : lookup->averaged_rows(element_named(op.dtype))) {
      bytes += part.bytes();
      memory.push_back(std::move(part));
    }
  }
  const std::int64_t stated = collective_bytes(program, op, rank).in;
  if (states && bytes == 0) return moving(op.id, rank);
  if (bytes != stated) {
    throw input_error({program.scenario},
                      op.name + " has " + std::to_string(stated) + " bytes for rank " + std::to_string(rank) +
                          ", and what it averages has " + std::to_string(bytes),
                      "Lower the case again");
  }
  return [this, memory, id = op.id, every = std::max(op.every, 1)](int iteration) {
    if (iteration % every != 0) return;
    const Op& now = programs_[programs_.turn(iteration)].op(id);
    for (const DeviceMemory& part : memory) device_.collective(now, part.as<void>(), part.as<void>(), part.bytes());
  };
}

Action RankOps::working(int id, int rank) {
  std::vector<Action> turns;
  for (std::size_t turn = 0; turn < programs_.size(); ++turn) {
    const Program& program = programs_[turn];
    const Op& op = program.op(id);
    const double host = value_on(program, op, op.host_bytes, rank), flops = value_on(program, op, op.flops, rank);
    if (host > 0 || op.role == OpRole::wait_for_splits) {
      turns.push_back(crossing(op, host, rank));
      continue;
    }
    turns.push_back(working(op, products_of(op, flops, rank), value_on(program, op, op.hbm_bytes, rank)));
  }
  return [this, turns](int iteration) { turns[programs_.turn(iteration)](iteration); };
}

namespace {

Precision precision_named(const std::string& name) {
  if (name == "tf32") return Precision::tf32;
  if (name == "bf16") return Precision::bf16;
  return name == "fp16" ? Precision::fp16 : Precision::fp32;
}

constexpr std::int64_t kRowBytes = 256;  // of a row that a cache misses, where the Program does not say

std::int64_t whole(double number) {
  return std::llround(number);
}

}  // namespace

// Those that the operation names; else cubes that make up its floating-point operations.
RankOps::Products RankOps::products_of(const Op& op, double flops, int rank) {
  Products products;
  if (op.fixed_ns > 0 || flops <= 0) return products;
  const Precision precision = precision_named(op.precision);
  const Program& program = programs_.first();
  for (const OpProduct& each : op.products) {
    const DevicePort::Product of{precision, whole(value_on(program, op, each.m, rank)),
                                 whole(value_on(program, op, each.n, rank)),
                                 whole(value_on(program, op, each.k, rank))};
    if (of.m > 0 && of.n > 0 && of.k > 0) products.emplace_back(of, each.count);
  }
  if (!products.empty()) return products;
  const DevicePort::DenseLimits limits = device_.prepare_dense(op.stream);
  const Cubes cubes = cubes_of(flops, static_cast<double>(limits.least_side), static_cast<double>(limits.most_side));
  const std::int64_t side = whole(cubes.side), count = whole(cubes.count), rows_left = whole(cubes.rows_left);
  if (count > 0) products.push_back({{precision, side, side, side}, count});
  if (rows_left > 0) products.push_back({{precision, rows_left, side, side}, 1});
  return products;
}

// A host waits for numbers that came from the other ranks: how much each will send. The Machine waits (cuda.cpp).
Action RankOps::crossing(const Op& op, double bytes, int rank) {
  const Program& program = programs_.first();
  Dense& dense = dense_[op.stream];
  const bool waits = op.role == OpRole::wait_for_splits, fetches = op.role == OpRole::prefetch_rows;
  const std::int64_t moved =
      waits ? program.world_size * static_cast<std::int64_t>(sizeof(std::int64_t)) : whole(bytes);
  grow(dense.device, moved, "bytes from the host");
  if (dense.host.bytes() < moved) dense.host = device_.host_memory(moved, "bytes in host memory");
  if (!fetches) {
    return [this, &dense, moved, waits, stream = op.stream](int) {
      const DeviceMemory &to = waits ? dense.host : dense.device, &from = waits ? dense.device : dense.host;
      device_.copy_across(to.as<void>(), from.as<void>(), moved, stream);
    };
  }
  const auto row_bytes = std::max<std::int64_t>(whole(value_on(program, op, op.row_bytes, rank)) / 4 * 4, 0);
  const std::int64_t row = row_bytes > 0 ? row_bytes : kRowBytes, rows = std::max<std::int64_t>(moved / row, 1);
  grow(dense.device, rows * row, "rows from the host");
  if (dense.host.bytes() < rows * row) dense.host = device_.host_memory(rows * row, "rows in host memory");
  const DeviceMemory ids = scattered(rows);
  return [this, &dense, ids, rows, row, stream = op.stream](int) {
    device_.fetch_rows(dense.host.as<void>(), ids.as<std::int64_t>(), rows, row, dense.device.as<void>(), stream);
  };
}

// All rows, in an order in which neighbours lie far apart.
DeviceMemory RankOps::scattered(std::int64_t rows) {
  std::vector<std::int64_t> ids(static_cast<std::size_t>(rows));
  std::iota(ids.begin(), ids.end(), std::int64_t{0});
  Rng rng(programs_.first().seed);
  for (std::size_t i = ids.size(); i > 1; --i) std::swap(ids[i - 1], ids[rng.below(i)]);
  const auto bytes = static_cast<std::int64_t>(ids.size() * sizeof(std::int64_t));
  DeviceMemory memory = device_.memory(bytes, "which rows come from the host");
  plain_bytes_ += memory.bytes();
  device_.upload(memory.as<void>(), ids.data(), bytes);
  return memory;
}

// So many floating-point operations, and so many bytes read and written; or as long as was measured elsewhere. What is
// no step of an iteration only waits.
Action RankOps::working(const Op& op, const Products& products, double bytes) {
  if (op.fixed_ns > 0 && op.role == OpRole::none) return [this, &op](int) { device_.wait(op.fixed_ns, op.stream); };
  if (op.fixed_ns > 0) {
    device_.prepare_pass(op.stream);
    return [this, &op](int) { device_.pass(op.fixed_ns, op.stream); };
  }
  const DevicePort::DenseLimits limits = device_.prepare_dense(op.stream);
  const auto half = static_cast<std::int64_t>(bytes / 2);
  Dense& dense = dense_[op.stream];
  reserve(dense, products, op.stream);
  for (DeviceMemory* buffer : {&dense.from, &dense.to}) {
    grow(*buffer, std::min(half, limits.copied), "bytes of the dense part");
  }
  return [this, &dense, products, half, stream = op.stream](int) {
    multiply(dense, products, stream);
    copy(dense, half, stream);
  };
}

void RankOps::reserve(Dense& dense, const Products& products, int stream) {
  for (const auto& [of, times] : products) {
    const ElementType type = elements_of(of.precision);
    Matrices& matrices = dense.matrices[type];
    grow(matrices.a, of.m * of.k * static_cast<std::int64_t>(sizeof(float)), "a matrix of the dense part", type);
    grow(matrices.b, of.k * of.n * static_cast<std::int64_t>(sizeof(float)), "a matrix of the dense part", type);
    grow(matrices.c, of.m * of.n * static_cast<std::int64_t>(sizeof(float)), "a matrix of the dense part", type);
    device_.prepare_product(of, stream);
  }
}

// Room for fp32 in any type: what stands in for a library multiplies that.
void RankOps::grow(DeviceMemory& memory, std::int64_t bytes, const char* what, ElementType type) {
  if (memory.bytes() >= bytes) return;
  plain_bytes_ -= memory.bytes();
  memory = {};
  memory = device_.memory(bytes, what);
  plain_bytes_ += memory.bytes();
  device_.fill_rows(type, memory.bytes() / element_bytes(type), 1, memory.as<void>());
}

void RankOps::multiply(const Dense& dense, const Products& products, int stream) {
  for (const auto& [of, times] : products) {
    const Matrices& matrices = dense.matrices.at(elements_of(of.precision));
    for (std::int64_t i = 0; i < times; ++i) {
      device_.multiply(of, matrices.a.as<void>(), matrices.b.as<void>(), matrices.c.as<void>(), stream);
    }
  }
}

void RankOps::copy(const Dense& dense, std::int64_t bytes, int stream) {
  while (bytes > 0) {
    const std::int64_t part = std::min(bytes, dense.from.bytes());
    device_.copy_blocks(dense.to.as<void>(), part, dense.from.as<void>(), part, part, 1, stream);
    bytes -= part;
  }
}

std::vector<RankOps::Early> RankOps::early() const {
  const auto carries = [](const Op& op) {
    return op.role == OpRole::exchange_ids || (op.role >= OpRole::lookup && op.role <= OpRole::decode_output);
  };
  const Program& program = programs_.first();
  int most = 0;
  for (const Op& op : program.ops) most = std::max(most, carries(op) && has(op.id) ? op.batches_ahead : 0);
  std::vector<Early> all;
  for (int iteration = -most; iteration < 0; ++iteration) {
    for (const Op& op : program.ops) {
      if (carries(op) && has(op.id) && op.batches_ahead + iteration >= 0) all.push_back({op.id, iteration});
    }
  }
  return all;
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

std::vector<float> RankOps::shard_rows(int shard, const Numbers* numbers) const {
  for (const auto& lookup : lookups_) {
    std::vector<float> rows = lookup->shard_rows(shard, numbers);
    if (!rows.empty()) return rows;
  }
  return {};
}

void RankOps::load_rows(int shard, const ValueAt& value) {
  for (const auto& lookup : lookups_) lookup->load_rows(shard, value);
}

}  // namespace shardsim
