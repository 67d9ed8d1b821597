#include "plan/column_shards/piece_kinds.h"

#include <algorithm>

namespace shardsim {
namespace {

constexpr std::int64_t kColumnsPerHalf = 4;  // NeuroShard's halves are multiples of four columns (neurosharder.py)

double vectors_per_sample(const Table& table) {
  if (table.kind == TableKind::sequence) return table.distribution().total();
  double vectors = 0;
  for (const Feature& feature : table.features) vectors += feature.num_poolings;
  return vectors;
}

std::string kernel_of(const TableConstraint& constraint, const Table& table) {
  const auto allows = [&](const std::string& kernel) {
    return std::ranges::find(constraint.compute_kernels, kernel) != constraint.compute_kernels.end();
  };
  if (constraint.compute_kernels.empty()) return "fused";
  for (const std::string kernel : {"fused", "dense", "fused_uvm_caching", "fused_uvm"}) {
    if (allows(kernel)) return kernel;
  }
  const auto stored = std::ranges::find_if(constraint.compute_kernels, in_key_value_store);
  if (stored != constraint.compute_kernels.end()) return *stored;
  throw input_error(constraint.place, "table '" + table.name + "' is allowed no compute kernel that can be simulated",
                    "Allow fused, fused_uvm, fused_uvm_caching or a kernel of key-value stores");
}

bool allows_type(const TableConstraint& constraint, Strategy strategy) {
  const std::vector<Strategy>& types = constraint.sharding_types;
  return types.empty() || std::ranges::find(types, strategy) != types.end();
}

}  // namespace

Table without_names(Table table) {
  table.name.clear();
  for (Feature& feature : table.features) feature.name.clear();
  return table;
}

bool may_be_refused(const Table& table, const Workload& workload) {
  const bool grouped = forward_wire(workload, table) == Dtype::mx4 || backward_wire(workload, table) == Dtype::mx4;
  return workload.wire_codec != WireCodec{} || grouped || table.bag_ids == BagIds::first_id;
}

bool is_refused(const Placement& placement, const Workload& workload, const PlannerContext& context) {
  const Table& table = workload.tables[static_cast<std::size_t>(placement.table)];
  if (!may_be_refused(table, workload) || !context.host.answers(PlannerHost::Question::loads)) return false;
  try {
    context.host.load_of(placement);
  } catch (const Error& error) {
    if (error.failure() != Failure::input) throw;
    return true;
  }
  return false;
}

PieceKinds::PieceKinds(const Workload& workload, const Cluster& cluster, const PlannerContext& context,
                       const PieceRules& rules, ShardCosts* shard_costs, PlanCosts* plan_costs)
    : workload_(workload),
      cluster_(cluster),
      context_(context),
      rules_(rules),
      shard_costs_(shard_costs),
      plan_costs_(plan_costs) {
  for (std::size_t table = 0; table < workload.tables.size(); ++table) class_of_.push_back(class_for(table));
}

PieceKinds::Allowed PieceKinds::allowed_for(const Table& table) const {
  Allowed allowed;
  allowed.strategy = rules_.whole ? Strategy::table_wise : Strategy::column_wise;
  allowed.splits = !rules_.whole;
  const TableConstraint* const constraint = context_.constraints ? context_.constraints->of(table.name) : nullptr;
  if (!constraint) return allowed;
  if (!allows_type(*constraint, allowed.strategy)) {
    allowed.strategy = rules_.whole ? Strategy::column_wise : Strategy::table_wise;
    allowed.splits = false;
  }
  if (!allows_type(*constraint, allowed.strategy)) {
    throw input_error(constraint->place,
                      "table '" + table.name +
                          "' is allowed neither table_wise nor column_wise, the only sharding types of this planner",
                      "Allow one of them, or choose another planner");
  }
  allowed.kernel = kernel_of(*constraint, table);
  allowed.min_partition = constraint->min_partition.value_or(1);
  allowed.caches = constraint->caches;
  return allowed;
}

std::size_t PieceKinds::class_for(std::size_t table) {
  TableClass mine{table, without_names(workload_.tables[table]), allowed_for(workload_.tables[table])};
  const auto alike = std::ranges::find_if(classes_, [&](const TableClass& other) {
    return other.nameless == mine.nameless && other.allowed == mine.allowed;
  });
  if (alike != classes_.end()) return static_cast<std::size_t>(alike - classes_.begin());
  classes_.push_back(std::move(mine));
  return classes_.size() - 1;
}

int PieceKinds::half_of(int kind) {
  int& half = halves_.at(static_cast<std::size_t>(kind));
  if (half >= 0) return half;
  const PieceKind& whole = (*this)[kind];
  const int made = kind_of(class_of_[whole.table], whole.columns / 2);
  return halves_[static_cast<std::size_t>(kind)] = made;
}

int PieceKinds::kind_of(std::size_t table_class, std::int64_t columns) {
  const auto [place, fresh] = known_.try_emplace({table_class, columns}, static_cast<int>(kinds_.size()));
  if (!fresh) return place->second;
  kinds_.push_back(described(classes_[table_class], columns));
  halves_.push_back(-1);
  const int kind = place->second;
  PieceKind& made = kinds_.back();
  const Placement piece = placement(made.table, kind, 0, 0);
  add_memory(made, piece);
  if (plan_costs_) plan_costs_->learn(made, piece);
  if (!shard_costs_) return kind;
  shard_costs_->learn(piece);
  shard_costs_->clear(0);
  shard_costs_->add(0, kind);
  made.seconds = shard_costs_->seconds(0);
  return kind;
}

PieceKind PieceKinds::described(const TableClass& table_class, std::int64_t columns) const {
  PieceKind kind;
  kind.table = table_class.table;
  kind.columns = columns;
  kind.width = static_cast<double>(columns) * vectors_per_sample(workload_.tables[kind.table]);
  kind.splits = table_class.allowed.splits && columns % (2 * kColumnsPerHalf) == 0 &&
                columns / 2 >= table_class.allowed.min_partition &&
                !is_refused(first_columns(table_class.table, table_class.allowed, columns / 2), workload_, context_);
  return kind;
}

void PieceKinds::add_memory(PieceKind& kind, const Placement& piece) const {
  if (rules_.weights_only) {
    const Table& table = workload_.tables[kind.table];
    kind.bytes = static_cast<double>(table.rows) * static_cast<double>(kind.columns * dtype_bytes(table.dtype));
    return;
  }
  const auto memory = context_.memory.on_ranks(piece, workload_, cluster_);
  const auto bytes = [&](std::size_t rank) { return memory[rank].static_bytes + memory[rank].dynamic_bytes; };
  kind.everywhere = memory.size() > 1 ? bytes(1) : 0;
  kind.bytes = bytes(0) - kind.everywhere;
}

Placement PieceKinds::placement(std::size_t table, int kind, std::int64_t begin, int rank) const {
  Placement piece = first_columns(table, classes_[class_of_[table]].allowed, (*this)[kind].columns);
  piece.column_begin += begin;
  piece.column_end += begin;
  piece.holders = {{rank}};
  return piece;
}

// On rank 0.
Placement PieceKinds::first_columns(std::size_t table, const Allowed& allowed, std::int64_t columns) const {
  Placement piece = shardsim::whole_table(static_cast<int>(table), workload_.tables[table], allowed.strategy, {{0}});
  piece.column_end = columns;
  piece.compute_kernel = allowed.kernel;
  allowed.caches.put(piece);
  return piece;
}

}  // namespace shardsim
