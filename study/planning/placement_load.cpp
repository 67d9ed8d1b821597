#include "plan/placement_load.h"

#include <algorithm>
#include <functional>

#include "plan/plan_file.h"
#include "sim/engine/op_work.h"
#include "sim/engine/row_facts.h"
#include "sim/engine/store_time.h"
#include "sim/lower/lower.h"
#include "study/planning/placement_outline.h"
#include "study/planning/prepared_case.h"

namespace shardsim {
namespace {

using Phase = LoadStep::Phase;

Phase phase_of(OpRole role) {
  if (role <= OpRole::write_rows) return Phase::inputs;
  if (role <= OpRole::restore_duplicates) return Phase::forward;
  const bool of_rows = role == OpRole::weight_gradient || role == OpRole::sum_gradient || role >= OpRole::update;
  return of_rows ? Phase::update : Phase::backward;
}

// The table of the placement by the workload's rules, without a dense part and a pipeline, which move work in time and
// add none. Where the rest is measured there are no passes over vectors: it holds them.
Workload workload_around(const Placement& placement, const Workload& workload) {
  Workload around;
  static_cast<EmbeddingRules&>(around) = workload;
  around.name = workload.name;
  around.tables = {workload.tables[placement.table]};
  around.input_exchange = workload.input_exchange == "none" ? "none" : workload.full_input_exchange() ? "full" : "ids";
  if (workload.modules_apart)
    around.tables.front().module = module_paths(workload)[static_cast<std::size_t>(placement.table)];
  around.dense.all_reduce = workload.dense.all_reduce;  // one call for all is no step of a placement
  if (workload.dense.measured)
    around.dense.measured.emplace().simulates_embeddings = workload.dense.measured->simulates_embeddings;
  return around;
}

LoadStep::Reach reach_of(const std::string& group) {
  if (group == "world") return LoadStep::Reach::world;
  return group == "node" ? LoadStep::Reach::in_node : LoadStep::Reach::across_nodes;
}

void add_collective(const Op& op, const Program& program, LoadStep& step) {
  step.collective = collective_kind(op.op_class);
  step.reach = reach_of(op.group);
  if (op.matrix.empty()) {
    step.bytes.assign(op.bytes_by_set.begin(), op.bytes_by_set.end());
    if (step.bytes.empty()) step.bytes = {static_cast<double>(op.bytes)};
    return;
  }
  ByteMatrix matrix = resolve_matrix(program, op.matrix);
  step.returns = matrix.transposed;
  matrix.transposed = false;
  const int members = static_cast<int>(program.groups.at(op.group).front().size());
  const auto unit = static_cast<double>(matrix.unit_bytes);
  if (matrix.kind == ByteMatrix::Kind::even) {
    step.bytes_to = {static_cast<double>(matrix.units.front()) * unit / members};
    return;
  }
  for (int to = 0; to < members; ++to) {  // sources of uneven rows differ by a few ids: their mean
    step.bytes_to.push_back(matrix.kind == ByteMatrix::Kind::dense
                                ? static_cast<double>(matrix.bytes_received(to, members)) / members
                                : unit * static_cast<double>(matrix.units.at(to)));
  }
}

void collapse_equal(std::vector<double>& amounts) {
  if (std::ranges::adjacent_find(amounts, std::not_equal_to<>()) == amounts.end()) amounts.resize(1);
}

// Seconds of the host's threads for rows of key-value stores: whoever shares a node waits for all that its ranks ask
// for.
void add_stored_rows(const Op& op, const Program& program, const ClusterSpec& spec, LoadStep& step) {
  if (!moves_stored_rows(op.role)) return;
  const std::vector<int> ranks = program.ranks_of(op);
  const int per_node = std::max(program.ranks_per_node, 1);
  std::vector<double> of_node(static_cast<std::size_t>(program.world_size / per_node), 0.0);
  for (std::size_t position = 0; position < ranks.size(); ++position)
    of_node[static_cast<std::size_t>(ranks[position] / per_node)] += stored_rows_time(op, position, spec).value;
  for (std::size_t rank = 0; rank < step.host_seconds.size(); ++rank)
    step.host_seconds[rank] += of_node[rank / static_cast<std::size_t>(per_node)];
}

void add_compute(const Op& op, const Program& program, const RowFacts& facts, const ClusterSpec& spec, LoadStep& step) {
  const std::vector<int> ranks = program.ranks_of(op);
  if (!ranks.empty() && ranks.front() == 0) step.tables = facts.of(op).tables_at(0);
  for (std::vector<double>* amounts : {&step.hbm_bytes, &step.lookups, &step.host_seconds}) {
    amounts->assign(program.world_size, 0.0);
  }
  for (std::size_t position = 0; position < ranks.size(); ++position) {
    const ComputeWork work = work_of(op, position, spec);
    step.work.kind = work.kind;
    step.work.optimizer = work.optimizer;
    step.work.indexed = work.indexed;
    step.work.kernels = work.kernels;
    step.work.sort = work.sort;
    step.hbm_bytes[ranks[position]] = work.hbm_bytes;
    step.lookups[ranks[position]] = work.lookups;
    step.host_seconds[ranks[position]] = work.host_link.value;
  }
  add_stored_rows(op, program, spec, step);
  for (std::vector<double>* amounts : {&step.hbm_bytes, &step.lookups, &step.host_seconds}) collapse_equal(*amounts);
}

// The mean over iterations of a step that runs in one of `every`.
void take_part(LoadStep& step, int every) {
  if (every == 1) return;
  for (std::vector<double>* amounts : {&step.hbm_bytes, &step.lookups, &step.host_seconds, &step.bytes, &step.bytes_to})
    for (double& amount : *amounts) amount /= every;
}

// Modules whose exchanges wait for each other have steps on their inputs of their own, which serve no fusion group.
bool takes_turns(OpRole role, const Workload& workload) {
  const bool of_inputs = role > OpRole::copy_inputs && role <= OpRole::prefetch_rows;
  const bool in_line = workload.pipeline == "none" || workload.base_pipeline();
  return of_inputs && in_line && workload.modules_apart && workload.full_input_exchange();
}

// The module whose turn it is: of the next operation that serves a fusion group.
std::string module_in_turn(const Op& op, const Program& program, const Plan& plan, const Workload& workload) {
  for (std::size_t id = static_cast<std::size_t>(op.id); id < program.ops.size(); ++id) {
    const int fusion = program.ops[id].fusion;
    if (fusion < 0) continue;
    const Program::Fusion& group = program.fusions[static_cast<std::size_t>(fusion)];
    const int table = plan.placements[static_cast<std::size_t>(group.shards.front())].table;
    return (group.kind == TableKind::pooled ? " pooled " : " ") +
           module_paths(workload, plan)[static_cast<std::size_t>(table)];
  }
  return "";
}

}  // namespace

// A lookup serves tables of one kind (sim/lower/group_member.h).
std::string load_key(const Op& op, const Program& program, const Plan& plan, const Workload& workload) {
  std::string key(op_role_name(op.role));
  if (op.fusion < 0 && takes_turns(op.role, workload)) key += module_in_turn(op, program, plan, workload);
  if (op.fusion < 0) return key;
  key += " " + program.fusions[static_cast<std::size_t>(op.fusion)].name + " " + op.name;
  if (op.is_collective() || op.shards.empty()) return key;
  const Table& table = program.table_of(op.shards.front());
  const bool weighted = std::ranges::any_of(table.features, &Feature::weighted);
  return key + " " + (workload.full_input_exchange() ? dtype_name(table.dtype) + " " : "") + table.pooling + " " +
         plan.placements[static_cast<std::size_t>(op.shards.front())].compute_kernel + (weighted ? " weighted" : "");
}

PlacementLoad placement_load(const Placement& placement, const Workload& workload, const Cluster& cluster,
                             const LoweringOptions& options) {
  Plan plan;
  plan.placements = {placement};
  plan.placements.front().table = 0;
  Workload around = workload_around(placement, workload);
  LoweringOptions alone = options;
  alone.fills_ahead = workload.fetches_ahead();
  const Program program = lower(plan, around, cluster, alone);
  around.pipeline = workload.pipeline;  // of the iteration whose steps these are
  const RowFacts facts(program);
  PlacementLoad load;
  for (const Op& op : program.ops) {
    if (is_dense_part(op.role) || op.role == OpRole::wait_for_splits) continue;
    LoadStep& step = load.steps.emplace_back();
    step.key = load_key(op, program, plan, around);
    step.phase = phase_of(op.role);
    if (op.is_collective()) {
      add_collective(op, program, step);
    } else {
      add_compute(op, program, facts, cluster.spec(), step);
    }
    take_part(step, op.every);
  }
  return load;
}

}  // namespace shardsim
