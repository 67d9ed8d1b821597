// Whole planner runs, as TorchRec's unit tests have them.

#include <fmt/format.h>

#include <algorithm>

#include "plan/torchrec/report/statistics.h"
#include "plan/torchrec/search/planner_run.h"
#include "tests/case_file/compare.h"
#include "tests/plan/torchrec/golden/failure_name.h"
#include "tests/plan/torchrec/golden/inputs.h"
#include "tests/plan/torchrec/golden/kinds.h"

namespace shardsim::golden {

using namespace torchrec;

namespace {

std::vector<ConstrainedTable> counted_tables(const Json& json) {
  std::vector<ConstrainedTable> tables;
  if (json.is_null()) return tables;
  for (int i = 0; i < json.at("count").get<int>(); ++i) tables.push_back(plain_table(fmt::format("table_{}", i), json));
  return tables;
}

// The size of the tests' dense part is not stated: taken as one fp32 row over all columns.
double dense_guess(const std::vector<ConstrainedTable>& tables) {
  double columns = 0;
  for (const ConstrainedTable& table : tables) columns += static_cast<double>(table.table.dim);
  return columns * 4;
}

Json outcome_json(const RunResult& run) {
  if (!run.found) {
    return {{"error", "PlannerError"}, {"error_type", failure_name(run.failure)}, {"num_proposals", run.num_proposals}};
  }
  if (run.plan.empty()) return {{"empty_plan", true}};
  std::vector<std::vector<int>> ranks;
  for (std::size_t i = 0; i < run.plan.size(); ++i) {
    const auto of = run.assignment.of(i);
    ranks.emplace_back(of.begin(), of.end());
  }
  std::sort(ranks.begin(), ranks.end());
  return {{"ranks_any_order", ranks}};
}

}  // namespace

std::vector<std::string> check_planner_outcome(const Json& input, const Json& expect) {
  Fields fields(input, "input");
  RunSettings settings;
  const Json& topology = fields.at("topology");
  settings.topology =
      default_topology(topology.at("world_size").get<int>(), topology.at("hbm_cap_per_rank").get<std::int64_t>());
  settings.estimate = batches_of(fields.whole("batch_size"));
  settings.reservation.percentage = fields.at("storage_reservation").at("percentage").get<double>();
  settings.sharders.kernels.emplace();
  for (const Json& name : fields.at("compute_kernels")) {
    settings.sharders.kernels->push_back(parse_compute_kernel(name.get<std::string>(), {"input"}));
  }
  Json results = Json::array();
  for (const Json& item : fields.at("cases")) {
    const auto tables = counted_tables(item.at("tables"));
    settings.sharders.types = types_of(item.at("sharding_types"));
    settings.reservation.dense_parameter_bytes = dense_guess(tables);
    results.push_back(outcome_json(run_planner(tables, settings)));
  }
  fields.finish();
  return differences(expect, {{"results", results}});
}

namespace {

std::vector<ConstrainedTable> virtual_tables(const Json& groups, const Json& cache_mb) {
  std::vector<ConstrainedTable> tables;
  for (const Json& json : groups) {
    Fields fields(json, "table");
    const bool is_virtual = fields.flag("virtual", false);
    fields.ignore({"rows", "dim", "cache_algorithm"});
    for (std::int64_t i = 0; i < fields.whole("count"); ++i) {
      ConstrainedTable item = plain_table(fmt::format("table_{}", tables.size()), json);
      item.table.pooled = false;
      item.table.module = "ec";
      item.constraints.sharding_types = {ShardingType::row_wise};
      item.constraints.compute_kernels = {ComputeKernel::fused_uvm_caching};
      if (is_virtual) {
        item.table.use_virtual_table = true;
        item.table.num_buckets = fields.whole("num_buckets");
        item.constraints.compute_kernels = {parse_compute_kernel(fields.text("compute_kernel"), {"table"})};
        item.table.max_l1_cache_mb = cache_mb.is_null() ? 0 : cache_mb.get<double>();
      }
      tables.push_back(item);
    }
    fields.ignore({"num_buckets", "compute_kernel", "sharding_type"});
    fields.finish();
  }
  return tables;
}

Json kernels_by_name(const Json& stats) {
  Json kernels = Json::object();
  for (const Json& row : stats.at("kernels")) kernels[row.at("kernel").get<std::string>()] = row;
  return kernels;
}

Json rows_of(const RunResult& run, ComputeKernel kernel) {
  Json rows = Json::array();
  for (const ShardingOption& option : run.plan) {
    if (option.kernel != kernel || !rows.empty()) continue;
    for (const ShardRun& shard : option.runs) {
      for (int i = 0; i < shard.count; ++i) rows.push_back(shard.rows);
    }
  }
  return rows;
}

}  // namespace

std::vector<std::string> check_virtual_table_planner(const Json& input, const Json& expect) {
  Fields fields(input, "input");
  RunSettings settings;
  settings.topology = default_topology(static_cast<int>(fields.whole("world_size")), fields.whole("hbm_cap_per_rank"));
  for (Storage& device : settings.topology.devices) device.ddr = fields.whole("ddr_cap_per_rank");
  settings.estimate = batches_of(fields.whole("batch_size"));
  settings.proposers = {ProposerKind::embedding_offload_scaleup};
  fields.ignore({"module", "hbm_cap_gib", "ddr_cap_gib", "proposer"});
  Json got, results = Json::array();
  for (const Json& cache_mb : fields.at("max_l1_cache_size_mb")) {
    const RunResult run = run_planner(virtual_tables(fields.at("tables"), cache_mb), settings);
    if (!run.found || run.plan.empty()) return {"no plan: " + run.reason};
    const Json stats = Json::parse(statistics_json(statistics_of(run, settings)));
    results.push_back({{"max_l1_cache_size_mb", cache_mb},
                       {"kernels", kernels_by_name(stats)},
                       {"max_hbm", stats.at("distribution").at("max_hbm")}});
    got["shard_rows_virtual"] = rows_of(run, ComputeKernel::dram_virtual_table);
    got["shard_rows_other"] = rows_of(run, ComputeKernel::fused_uvm_caching);
  }
  fields.finish();
  got["results"] = results;
  return differences(expect, got);
}

}  // namespace shardsim::golden
