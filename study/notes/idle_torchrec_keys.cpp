// Notes on keys of TorchRec's parts of an iteration that the case states and that its plan has no use for.

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "plan/plan_file.h"
#include "sim/memory/buffers.h"
#include "study/notes/notes.h"

namespace shardsim {
namespace {

constexpr int kMostRanksOfTwoPrograms = 512;  // a Program is lowered in 0.1 s up to there

bool has_role(const Program& program, OpRole role) {
  return std::ranges::find(program.ops, role, &Op::role) != program.ops.end();
}

std::string no_effect_here(const std::string& key, const Known& known, const std::string& why) {
  return fmt::format("{} of '{}' has no effect here: {}", key, known.item.workload.name, why);
}

std::string idle_stash_note(const Known& known) {
  if (!known.item.workload.stash || has_role(known.prepared->program(), OpRole::stash_rows)) return "";
  return no_effect_here("stash", known,
                        "no row leaves a GPU. Rows in host memory and replicated rows are not stashed, nor are tables "
                        "that 'keep' names.");
}

// The groups of a world, or how its replicas become equal again.
std::string idle_groups_note(const Known& known) {
  const auto& groups = known.item.workload.sharding_groups;
  if (!groups) return "";
  if (groups->size == known.prepared->cluster.world_size())
    return no_effect_here("sharding_groups", known,
                          "one group is the whole world. Write a size that divides it, or leave the key out.");
  const Program& program = known.prepared->program();
  if (!has_role(program, OpRole::average_replicas) && !has_role(program, OpRole::scatter_rows))
    return no_effect_here("sharding_groups", known,
                          "every table is data_parallel, and the gradients of those are reduced over the world, "
                          "whatever the groups. Other strategies have replicas to average.");
  const std::string& optimizer = known.item.workload.optimizer;
  if (!groups->sync_states || groups->sync_every == 0 || optimizer == "adagrad" || optimizer == "rowwise_adagrad")
    return "";
  return no_effect_here("sharding_groups.sync_states", known,
                        fmt::format("TorchRec averages the sums of Adagrad and of row-wise Adagrad alone, and the "
                                    "optimizer is {}. Replicas of rows are averaged.",
                                    optimizer));
}

// True when there are several modules of one kind, each with exchanges of its own.
bool has_more_modules(const Known& known) {
  const std::vector<Table>& tables = known.item.workload.tables;
  const std::vector<std::string> paths = module_paths(known.item.workload, known.prepared->plan);
  std::map<TableKind, std::string> first;
  for (std::size_t table = 0; table < tables.size(); ++table)
    if (first.try_emplace(tables[table].kind, paths[table]).first->second != paths[table]) return true;
  return false;
}

bool converts_vectors(const Known& known) {
  const Program& program = known.prepared->program();
  return has_role(program, OpRole::encode_output) || has_role(program, OpRole::encode_gradient);
}

bool adds_gradients(const Known& known) {
  return std::ranges::any_of(known.prepared->program().ops, [](const Op& op) { return op.every > 1; });
}

bool copies_inputs(const Known& known) {
  return has_role(known.prepared->program(), OpRole::copy_inputs);
}

// A key that the workload states, and the workload without it: where both make one Program and take the memory of one,
// it does nothing. What surely has a use for it need not be lowered again.
struct IdleKey {
  const char* key;
  bool (*is_stated)(const Workload&);
  bool (*surely_acts)(const Known&);
  void (*leave_out)(Workload&);
  const char* why;
};

constexpr IdleKey kIdleKeys[] = {
    {"modules.exchanges", [](const Workload& w) { return w.modules_apart; }, has_more_modules,
     [](Workload& w) { w.modules_apart = false; },
     "there is one module of each kind of tables, which has its own exchanges anyway."},
    {"wire_dtype.kernels", [](const Workload& w) { return w.wire_codec.kernels; }, converts_vectors,
     [](Workload& w) { w.wire_codec.kernels = false; },
     "no vector travels between ranks in another type than that of its table, so that no kernel converts any."},
    {"accumulate", [](const Workload& w) { return w.accumulate > 1; }, adds_gradients,
     [](Workload& w) { w.accumulate = 1; },
     "there are no parameters of a dense part, and no table has a dense gradient: fused optimizers update rows in each "
     "batch."},
    {"inputs_kept", [](const Workload& w) { return w.inputs_kept != InputsKept{}; }, copies_inputs,
     [](Workload& w) { w.inputs_kept = {}; }, "no rank copies, permutes or sends ids that could be kept."},
};

bool same_buffers(const std::vector<Buffer>& some, const std::vector<Buffer>& others) {
  const auto same_reader = [](const Buffer::Reader& a, const Buffer::Reader& b) {
    return a.op == b.op && a.later == b.later;
  };
  return std::ranges::equal(some, others, [&](const Buffer& a, const Buffer& b) {
    return a.part == b.part && a.writer == b.writer && a.bytes == b.bytes &&
           std::ranges::equal(a.readers, b.readers, same_reader);
  });
}

std::string idle_key_note(const Known& known, const IdleKey& key) {
  const PreparedCase& prepared = *known.prepared;
  if (!key.is_stated(known.item.workload) || key.surely_acts(known)) return "";
  Case without = known.item;
  if (const std::optional<int> draw = prepared.row_draw()) without.load.draw = draw;
  key.leave_out(without.workload);
  const PreparedCase usual(prepared.scenario, without, prepared.shared_cluster(), prepared.plan);
  if (usual.program() != prepared.program()) return "";
  if (!same_buffers(buffers_of(usual.program(), without.workload), buffers_of(prepared.program(), known.item.workload)))
    return "";
  return no_effect_here(key.key, known, key.why);
}

}  // namespace

Notes idle_torchrec_keys_note(const Known& known) {
  if (known.prepared == nullptr || known.prepared->cluster.world_size() > kMostRanksOfTwoPrograms) return {};
  Notes notes{idle_stash_note(known), idle_groups_note(known)};
  for (const IdleKey& key : kIdleKeys) notes.push_back(idle_key_note(known, key));
  return notes;
}

}  // namespace shardsim
