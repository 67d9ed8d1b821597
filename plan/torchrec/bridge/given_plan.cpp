#include "plan/torchrec/bridge/given_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "plan/torchrec/estimate/perf_estimate.h"
#include "plan/torchrec/estimate/storage_estimate.h"

namespace shardsim::torchrec {
namespace {

// Placements of one table that are one option: the slices of a table, or one tier.
struct Part {
  std::vector<const Placement*> placements;
  std::uint64_t row_begin = 0, row_end = 0;
  Strategy strategy = Strategy::table_wise;
};

std::vector<Part> parts_of(const Plan& plan) {
  std::vector<Part> parts;
  for (const Placement& placement : plan.placements) {
    const bool slice = !parts.empty() && in_columns(placement.strategy) &&
                       parts.back().placements.front()->table == placement.table &&
                       parts.back().strategy == placement.strategy && parts.back().row_begin == placement.row_begin;
    if (!slice) parts.push_back({{}, placement.row_begin, placement.row_end, placement.strategy});
    parts.back().placements.push_back(&placement);
  }
  return parts;
}

void shrink_to(TableSpec& table, const Part& part, const Table& whole) {
  if (part.row_begin == 0 && part.row_end == whole.rows) return;
  const AccessDistribution access = whole.distribution();
  const double share = access.sum(part.row_begin, part.row_end) / access.total();
  table.rows = static_cast<std::int64_t>(part.row_end - part.row_begin);
  for (double& factor : table.pooling_factors) factor *= share;
}

ShardRun run_of(const Placement& placement, std::int64_t rows, std::int64_t offset) {
  ShardRun run;
  run.rows = rows;
  run.cols = placement.columns();
  run.row_offset = offset;
  run.col_offset = placement.column_begin;
  run.row_step = rows;
  return run;
}

// Blocks of ceil(rows / ranks) rows.
void add_row_blocks(GivenTable& given, const Placement& placement, const std::vector<int>& ranks) {
  const auto rows = static_cast<std::int64_t>(placement.rows());
  const auto count = static_cast<std::int64_t>(ranks.size());
  const std::int64_t block = (rows + count - 1) / count;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t offset = std::min(i * block, rows);
    const std::int64_t size = std::min(block, rows - offset);
    std::vector<ShardRun>& runs = given.option.runs;
    const bool same = i > 0 && runs.back().rows == size;
    if (same) {
      ++runs.back().count;
    } else {
      runs.push_back(run_of(placement, size, offset));
    }
    given.ranks.push_back(ranks[static_cast<std::size_t>(i)]);
  }
}

void cut(GivenTable& given, const Part& part) {
  for (const Placement* placement : part.placements) {
    for (const std::vector<int>& ranks : placement->holders) {
      if (in_rows(part.strategy)) {
        add_row_blocks(given, *placement, ranks);
        continue;
      }
      given.option.runs.push_back(run_of(*placement, static_cast<std::int64_t>(placement->rows()), 0));
      given.option.runs.back().row_step = 0;
      given.option.runs.back().count = static_cast<int>(ranks.size());
      given.ranks.insert(given.ranks.end(), ranks.begin(), ranks.end());
    }
  }
}

void estimate(GivenTable& given, const RunSettings& settings) {
  const TableSpec& table = given.table;
  ShardingOption& option = given.option;
  const BatchLoad load = batch_load(table, settings.estimate.batch_size);
  const TableStorage stored = table_storage(table, option.kernel, settings.topology.device, settings.estimate.rules);
  for (ShardRun& run : option.runs) {
    const ShardStorage storage = shard_storage(table, stored, option.type, option.kernel, settings.topology,
                                               settings.estimate, run.rows, run.cols, load);
    run.perf =
        shard_perf(table, load, option.type, option.kernel, settings.topology, settings.estimate, table.rows, run.cols);
    run.input_bytes = storage.input;
    run.output_bytes = storage.output;
    run.storage = storage.total();
  }
  option.summarise();
}

}  // namespace

ShardingType type_of(Strategy strategy) {
  switch (strategy) {
    case Strategy::data_parallel:
      return ShardingType::data_parallel;
    case Strategy::column_wise:
      return ShardingType::column_wise;
    case Strategy::table_column_wise:
      return ShardingType::table_column_wise;
    case Strategy::row_wise:
      return ShardingType::row_wise;
    case Strategy::flex:
    case Strategy::table_row_wise:
      return ShardingType::table_row_wise;
    case Strategy::grid_shard:
      return ShardingType::grid_shard;
    case Strategy::table_wise:
      break;
  }
  return ShardingType::table_wise;
}

std::vector<GivenTable> given_tables(const Plan& plan, const Workload& workload, const PlannerRequest& request) {
  std::map<std::size_t, const TableSpec*> specs;
  for (std::size_t i = 0; i < request.order.size(); ++i) specs[request.order[i]] = &request.tables[i].table;
  std::vector<GivenTable> tables;
  for (const Part& part : parts_of(plan)) {
    const Placement& first = *part.placements.front();
    const Table& whole = workload.tables.at(static_cast<std::size_t>(first.table));
    GivenTable given;
    given.table = *specs.at(static_cast<std::size_t>(first.table));
    shrink_to(given.table, part, whole);
    if (const auto module = plan.modules.find(first.table); module != plan.modules.end()) {
      given.table.module = module->second;
    }
    given.option.type = type_of(part.strategy);
    given.option.flex = part.strategy == Strategy::flex;
    if (part.row_begin > 0 || part.row_end < whole.rows) given.option.tier = {part.row_begin, part.row_end};
    given.option.kernel = parse_compute_kernel(first.compute_kernel, {"compute kernel of the plan"});
    given.option.partition = partition_by(given.option.type);
    if (has_cache(first.compute_kernel)) given.table.cache_load_factor = first.cache_load_factor;
    given.option.load_factor = given.table.cache_load_factor;
    given.option.table = static_cast<int>(tables.size());
    cut(given, part);
    try {
      estimate(given, request.settings);
    } catch (const PlannerError& error) {
      const std::string what = error.what();
      const std::string table = what.starts_with("table ") ? "" : fmt::format("table '{}': ", given.table.name);
      throw input_error({}, table + what, "Choose another compute kernel in the plan");
    }
    tables.push_back(std::move(given));
  }
  return tables;
}

RunResult rated_run(const Plan& plan, const Workload& workload, const PlannerRequest& request) {
  RunResult run;
  run.found = true;
  run.assignment.first = {0};
  for (GivenTable& given : given_tables(plan, workload, request)) {
    run.space.tables.push_back(std::move(given.table));
    run.plan.push_back(std::move(given.option));
    run.assignment.ranks.insert(run.assignment.ranks.end(), given.ranks.begin(), given.ranks.end());
    run.assignment.first.push_back(run.assignment.ranks.size());
  }
  const Proposal proposal = proposal_of(run.plan);
  run.rating = perf_rating(proposal, run.assignment, request.settings.topology.world_size);
  return run;
}

RunResult given_run(const Plan& plan, const Workload& workload, const PlannerRequest& request) {
  std::vector<TableSpec> specs;
  for (const ConstrainedTable& table : request.tables) specs.push_back(table.table);
  Reservation reservation;
  try {
    reservation = reserve(request.settings.reservation, request.settings.topology, specs, request.settings.estimate);
  } catch (const PlannerError& error) {
    throw Error(Failure::infeasible, Place{}, error.what(), "Reserve a smaller share, or take a smaller batch");
  }
  RunResult run = rated_run(plan, workload, request);
  run.reservation = std::move(reservation);
  return run;
}

}  // namespace shardsim::torchrec
