#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "plan/plan_file.h"
#include "program/program.h"
#include "sim/lower/fusion_group.h"
#include "sim/lower/known_shares.h"

namespace shardsim {
namespace {

struct StrategyOrder {
  Strategy strategy;
  const char* name;
  bool sharded = true;
};
constexpr StrategyOrder kOrder[] = {
    {Strategy::data_parallel, "ddp", false},
    {Strategy::data_parallel, "dp"},
    {Strategy::flex, "flex"},
    {Strategy::row_wise, "rw"},
    {Strategy::column_wise, "cw"},
    {Strategy::table_column_wise, "twcw"},
    {Strategy::table_wise, "tw"},
    {Strategy::table_row_wise, "twrw"},
    {Strategy::grid_shard, "gs"},
};

// Tables that are looked up and exchanged together. `suffix`: of the names of its groups.
struct TableModule {
  TableKind kind;
  std::string suffix;
  std::set<int> tables;
};

// In the order of the forward pass: all tables of a kind, or where the workload has them apart those of each path in
// plan files. The usual paths of the workload have no suffix, whatever other modules there are: planners find
// operations by their names.
std::vector<TableModule> modules_of(const Workload& workload, const Plan& plan) {
  std::vector<std::string> paths(workload.tables.size());
  if (workload.modules_apart) paths = module_paths(workload, plan);
  std::vector<TableModule> modules;
  for (const TableKind kind : {workload.first_kind(), other_kind(workload.first_kind())}) {
    const std::string& usual = kind == TableKind::pooled ? workload.pooled_module : workload.sequence_module;
    std::map<std::string, std::size_t> module_at;
    for (std::size_t table = 0; table < workload.tables.size(); ++table) {
      if (workload.tables[table].kind != kind) continue;
      const std::string& path = paths[table];
      const auto [found, is_new] = module_at.try_emplace(path, modules.size());
      if (is_new) modules.push_back({kind, path.empty() || path == usual ? "" : "_" + path, {}});
      modules[found->second].tables.insert(static_cast<int>(table));
    }
  }
  return modules;
}

// The placements of a plan as members of fusion groups.
class MemberMaker {
 public:
  MemberMaker(Program& program, const Plan& plan, const Workload& workload, const LoweringOptions& options)
      : program_(program),
        plan_(plan),
        workload_(workload),
        options_(options),
        known_(options.known ? options.known : std::make_shared<KnownShares>()),
        caches_(row_caches(plan.placements, workload)) {}

  std::vector<GroupMember> members(const StrategyOrder& order, const TableModule& of) const {
    std::vector<GroupMember> members;
    for (std::size_t index = 0; index < plan_.placements.size(); ++index) {
      const Placement& placement = plan_.placements[index];
      if (placement.strategy != order.strategy || !of.tables.contains(placement.table)) continue;
      if (workload_.tables[static_cast<std::size_t>(placement.table)].sharded != order.sharded) continue;
      members.push_back(make(static_cast<int>(index), placement));
    }
    return members;
  }

 private:
  // An uneven one says in the Program how its rows are cut and what that makes of them, for whoever draws ids.
  GroupMember make(int index, const Placement& placement) const {
    Program::Shard& shard = program_.shards[static_cast<std::size_t>(index)];
    const Table& table = workload_.tables[placement.table];
    GroupMember member =
        make_member(index, placement, caches_[static_cast<std::size_t>(index)], workload_, program_, options_, *known_);
    if (table.index_dedup) shard.lookups = received_of(member);
    if (!member.uneven) return member;
    shard.lookups = received_of(member);
    shard.cut = cut_of(placement, table, options_.load);
    if (shard.cut != RowCut::hashed && table.row_order == RowOrder::random) shard.order = "row_id";
    return member;
  }

  std::vector<std::int64_t> received_of(const GroupMember& member) const {
    const bool flex = member.placement->strategy == Strategy::flex;
    const auto set = static_cast<int>(member.placement->holders.front().size());
    if (member.placement->strategy == Strategy::data_parallel)
      return std::vector<std::int64_t>(static_cast<std::size_t>(set), member.items.count);
    const IdCounts counts = counts_of(member, member.items.count, flex ? set : program_.world_size);
    std::vector<std::int64_t> received;
    for (int owner = 0; owner < counts.owners(); ++owner) received.push_back(counts.received(owner));
    return received;
  }

  Program& program_;
  const Plan& plan_;
  const Workload& workload_;
  const LoweringOptions& options_;
  std::shared_ptr<KnownShares> known_;
  std::vector<RowCaches> caches_;  // [placement]
};

FusionGroup::PartialSums partial_sums_of(const std::string& output_exchange) {
  if (output_exchange == "uniform") return FusionGroup::PartialSums::uniform;
  if (output_exchange == "hierarchical") return FusionGroup::PartialSums::hierarchical;
  return FusionGroup::PartialSums::reduce_scatter;
}

// Members that are exchanged together, in the order of the first of them: those that go by the workload's types on the
// wire, and those of each pair of types that tables state for themselves. Replicated tables exchange no vectors.
std::vector<std::vector<GroupMember>> by_wire(std::vector<GroupMember> members, Strategy strategy) {
  std::vector<std::vector<GroupMember>> sets;
  for (GroupMember& member : members) {
    const auto same = [&](const std::vector<GroupMember>& set) {
      const GroupMember& first = set.front();
      if (strategy == Strategy::data_parallel || first.own_types != member.own_types)
        return strategy == Strategy::data_parallel;
      return !member.own_types ||
             (first.forward_type == member.forward_type && first.backward_type == member.backward_type &&
              first.cross_forward_type == member.cross_forward_type &&
              first.cross_backward_type == member.cross_backward_type);
    };
    auto found = std::ranges::find_if(sets, same);
    if (found == sets.end()) found = sets.insert(sets.end(), std::vector<GroupMember>{});
    found->push_back(std::move(member));
  }
  return sets;
}

// A table alone gets the name that it gets among others: planners find its operations by it. The types between nodes
// are those that were asked for, from which the others follow.
std::string wire_suffix(const FusionGroup& group, bool own_types) {
  if (!own_types || group.strategy == Strategy::data_parallel) return "";
  return fmt::format("_{}_{}", dtype_name(group.cross_forward_type), dtype_name(group.cross_backward_type));
}

}  // namespace

std::vector<FusionGroup> fuse(Program& program, const Plan& plan, const Workload& workload, const Cluster& cluster,
                              const LoweringOptions& options) {
  const MemberMaker maker(program, plan, workload, options);
  const std::vector<OwnInput> inputs = own_inputs_of(workload);
  std::vector<FusionGroup> groups;
  int number = 0;
  for (const TableModule& module : modules_of(workload, plan)) {
    for (const StrategyOrder& order : kOrder) {
      const std::string name =
          (module.kind == TableKind::pooled ? "pooled_" : "") + std::string(order.name) + module.suffix;
      const std::vector<std::vector<GroupMember>> sets = by_wire(maker.members(order, module), order.strategy);
      for (const std::vector<GroupMember>& members : sets) {
        FusionGroup& group = groups.emplace_back();
        group.module = number;
        group.strategy = order.strategy;
        group.sharded = order.sharded;
        group.kind = module.kind;
        group.forward_type = members.front().forward_type;
        group.backward_type = members.front().backward_type;
        group.cross_forward_type = members.front().cross_forward_type;
        group.cross_backward_type = members.front().cross_backward_type;
        if (group.pooled() && group.strategy == Strategy::row_wise) {
          group.partial_sums = partial_sums_of(workload.output_exchange);
        }
        group.index = static_cast<int>(groups.size()) - 1;
        for (const GroupMember& member : members) group.shards.push_back(member.shard);
        program.fusions.push_back({name + wire_suffix(group, members.front().own_types), module.kind, group.shards});
        fill(group, program, members, workload, inputs, cluster, options);
      }
    }
    ++number;
  }
  return groups;
}

}  // namespace shardsim
