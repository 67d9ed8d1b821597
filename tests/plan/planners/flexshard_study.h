#pragma once

#include <string>
#include <utility>

#include "plan/flexshard_equations.h"
#include "tests/plan/test_setting.h"

namespace shardsim {

// The FlexShard study's models on its cluster, and what tests ask of their plans.

inline const std::string kTwo = "{name: flexshard_2tier}";
inline const std::string kPaper = "{name: flexshard_3tier, flex_stop: off}";

struct Tiers {
  std::int64_t dp = 0, flex = 0, row_wise = 0;
};

inline Tiers tiers_of(const Plan& plan, int table = 0) {
  return {rows_of(plan, Strategy::data_parallel, table), rows_of(plan, Strategy::flex, table),
          rows_of(plan, Strategy::row_wise, table)};
}

inline std::uint64_t unsigned_rows(std::int64_t rows) {
  return static_cast<std::uint64_t>(rows);
}

// Share of the accesses, %, of the rows [first, first + count).
inline double coverage(const Table& table, std::int64_t first, std::int64_t count) {
  const AccessDistribution rows = table.distribution();
  return 100 * rows.sum(unsigned_rows(first), unsigned_rows(first + count)) / rows.total();
}

// Memory over all row-wise of one table's tiers, from the equations, bytes per GPU.
inline double extra_memory(const Table& table, const Tiers& tiers) {
  const CostParameters cost;
  const double flex = static_cast<double>(tiers.flex) * 1024 * cost.flex_over_rw();
  return dp_memory_delta(cost, table.distribution(), 1024, unsigned_rows(tiers.dp)) + flex;
}

inline std::int64_t distance(std::int64_t a, std::int64_t b) {
  return std::abs(a - b);
}

struct Study {
  nlohmann::json points = flexshard_points();
  Cluster cluster = test_cluster(4, 8);

  Table table(const std::string& model) const { return study_table(points, model); }
  Plan plan(const std::string& yaml, const std::string& model) const {
    return plan_by(yaml, workload_of({table(model)}), cluster);
  }
  std::string paper_options(const std::string& model) const {
    if (model != "RM-2_flex_stop") return kPaper;
    return fmt::format("{{name: flexshard_3tier, flex_stop: {}}}", points["models"][model]["flex_stop"].get<double>());
  }
};

}  // namespace shardsim
