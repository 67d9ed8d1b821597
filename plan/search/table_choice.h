#pragma once

#include <deque>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "plan/planner.h"
#include "plan/search/iteration_cost.h"

namespace shardsim::search {

// The work and memory that a piece adds, counted for rank 0 or node 0 where it lies on one rank or node.
struct PieceLoad {
  std::vector<Share> shares;
  double memory_all = 0;                             // bytes on every rank
  std::vector<std::pair<int, double>> memory, host;  // besides: by rank; rows in host memory: by node
};

// A part of a table's columns, all rows: how it is sharded, and where.
struct Piece {
  Strategy strategy = Strategy::row_wise;
  int place = 0;  // its rank, or the node of table_row_wise and grid_shard; else 0
  std::int64_t column_begin = 0, column_end = 0;
  int kernel = 0;  // of TableChoices::kernels
  const PieceLoad* load = nullptr;
  const Placement* given = nullptr;  // of a plan that the search started from; its `load` is counted where it lies

  Shift shift(int per_node) const;
};

// True when the piece can go to another rank by itself.
bool moves_alone(const Piece& piece);

// The placement of one table.
using Choice = std::vector<Piece>;

// The choices that a search has for the tables of a workload, with their costs. Equal tables share the loads of their
// pieces.
class TableChoices {
 public:
  // Errors: Failure::input for constraints that leave a table no type or kernel.
  TableChoices(const Workload& workload, const Cluster& cluster, const PlannerContext& context);

  // Types that the table may have.
  const std::vector<Strategy>& strategies(std::size_t table) const { return rules_[table].strategies; }
  // Kernels, as Piece::kernel, that its rows may have where they are not replicated.
  const std::vector<int>& kernels(std::size_t table) const { return rules_[table].kernels; }
  std::int64_t min_partition(std::size_t table) const { return rules_[table].min_partition; }
  // False for what constraints or the simulation of such a workload do not allow.
  bool allows(const Plan& plan) const;
  bool can_slice(std::size_t table, Strategy strategy, int kernel, std::int64_t columns) const;

  // Known to `cost` from now on: every piece of these plans and every piece that tables may have. One placement of
  // each kind, for an outline.
  Plan every_kind(const std::vector<Plan>& plans) const;
  void use(IterationCost& cost) { cost_ = &cost; }

  Piece piece(std::size_t table, Strategy strategy, int kernel, int place, std::int64_t begin, std::int64_t end);
  std::vector<Choice> of_plan(const Plan& plan);  // by table
  // Ways to place the table that remembered plans had, and that the search cannot make itself: tiers.
  void remember_tiers(const std::vector<Choice>& choices);
  const std::vector<Choice>& tiers_met(std::size_t table) const { return tiers_[table]; }
  Plan plan_of(const std::vector<Choice>& choices, std::uint64_t seed) const;
  Placement placement_of(std::size_t table, const Piece& piece) const;

 private:
  struct Rules {
    std::vector<Strategy> strategies;
    std::vector<int> kernels;
    std::int64_t min_partition = 1;
    CacheSizes caches;
  };
  using Kind = std::tuple<int, Strategy, int, std::int64_t, bool>;  // class, type, kernel, columns, first block

  void find_classes();
  void read_rules(std::size_t table, const TableConstraint* constraint);
  int kernel_index(const std::string& name);
  PieceLoad load_of(const Placement& placement) const;
  bool allowed(const Placement& placement) const;
  bool refused(const Placement& placement) const;
  void leave_out_refused(std::size_t table);

  const Workload& workload_;
  const Cluster& cluster_;
  const PlannerContext& context_;
  const std::vector<std::string> modules_;  // [table] those with which it shares its operations; "": with all
  IterationCost* cost_ = nullptr;
  std::vector<int> class_of_;  // [table]
  std::vector<Rules> rules_;   // [table]
  std::vector<std::string> kernels_;
  std::map<Kind, PieceLoad> known_;
  mutable std::map<Kind, bool> refused_;  // by the simulation; kernel: in host memory; the last: a tier
  std::deque<Placement> given_;
  std::deque<PieceLoad> given_loads_;
  std::vector<std::vector<Choice>> tiers_;  // [table]
};

}  // namespace shardsim::search
