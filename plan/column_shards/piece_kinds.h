#pragma once

#include <map>
#include <string>
#include <vector>

#include "plan/column_shards/shard_costs.h"

namespace shardsim {

struct PieceRules {
  // Tables stay whole and are table_wise; else column_wise, whole ones too, so that all share lookups and exchanges.
  bool whole = false;
  bool weights_only = false;  // memory: rows times columns, and nothing else (as the papers count)
};

// The table without its name and those of its features. Tables that are equal without names are one kind for a planner.
Table without_names(Table table);

// True for a placement that the simulation of such a workload refuses: columns that the codec of their exchange cannot
// cut, partial sums that it cannot add up, tiers of bags that follow their first id. False where nobody can say.
// may_be_refused() tells at once whether there is anything to find out about a table.
bool may_be_refused(const Table& table, const Workload& workload);
bool is_refused(const Placement& placement, const Workload& workload, const PlannerContext& context);

// The kinds of pieces that a search meets, each asked about once. Kinds of halves are made when they are first wanted.
// Keeps the workload's constraints: a table that may not be column_wise is table_wise and whole (with `whole`, the
// other way round). Errors (Failure::input, naming the table): constraints that allow neither, or no kernel that can
// be lowered.
class PieceKinds {
 public:
  // Without costs (null) every kind takes 0 seconds.
  PieceKinds(const Workload& workload, const Cluster& cluster, const PlannerContext& context, const PieceRules& rules,
             ShardCosts* shard_costs, PlanCosts* plan_costs);

  int whole_table(std::size_t table) { return kind_of(class_of_.at(table), workload_.tables[table].dim); }
  int half_of(int kind);  // of one that splits

  const PieceKind& operator[](int kind) const { return kinds_[static_cast<std::size_t>(kind)]; }
  std::size_t size() const { return kinds_.size(); }

  // All rows of columns [begin, begin + columns of the kind) of the table on one rank.
  Placement placement(std::size_t table, int kind, std::int64_t begin, int rank) const;

 private:
  // A table's choices within the constraints.
  struct Allowed {
    Strategy strategy = Strategy::column_wise;
    bool splits = true;
    std::int64_t min_partition = 1;
    std::string kernel = "fused";
    CacheSizes caches = {};
    bool operator==(const Allowed&) const = default;
  };
  // Tables that differ in their names alone.
  struct TableClass {
    std::size_t table = 0;
    Table nameless;
    Allowed allowed;
  };

  Allowed allowed_for(const Table& table) const;
  std::size_t class_for(std::size_t table);
  int kind_of(std::size_t table_class, std::int64_t columns);
  Placement first_columns(std::size_t table, const Allowed& allowed, std::int64_t columns) const;
  PieceKind described(const TableClass& table_class, std::int64_t columns) const;
  void add_memory(PieceKind& kind, const Placement& piece) const;

  const Workload& workload_;
  const Cluster& cluster_;
  const PlannerContext& context_;
  PieceRules rules_;
  ShardCosts* shard_costs_;
  PlanCosts* plan_costs_;
  std::vector<TableClass> classes_;
  std::vector<std::size_t> class_of_;  // by table
  std::vector<PieceKind> kinds_;
  std::vector<int> halves_;  // by kind; -1: not yet wanted
  std::map<std::pair<std::size_t, std::int64_t>, int> known_;
};

}  // namespace shardsim
