#include <fmt/format.h>

#include "plan/torchrec/report/statistics.h"
#include "plan/torchrec/search/planner_run.h"
#include "tests/case_file/compare.h"
#include "tests/plan/torchrec/golden/dtype.h"
#include "tests/plan/torchrec/golden/failure_name.h"
#include "tests/plan/torchrec/golden/inputs.h"
#include "tests/plan/torchrec/golden/kinds.h"
#include "tests/plan/torchrec/golden/printed_width.h"
#include "tests/plan/torchrec/golden/run_report.h"

namespace shardsim::golden {
namespace {

using namespace torchrec;

bool whole_numbers(const Json& list) {
  for (const Json& value : list) {
    if (!value.is_number_integer()) return false;
  }
  return true;
}

std::vector<ComputeKernel> kernels_of(const Json& list) {
  std::vector<ComputeKernel> kernels;
  for (const Json& name : list) kernels.push_back(parse_compute_kernel(name.get<std::string>(), {"input"}));
  return kernels;
}

void constrain(ConstrainedTable& item, const Json& json) {
  Fields fields(json, "constraints");
  TableSpec& table = item.table;
  if (const Json* factors = fields.given("pooling_factors")) {
    table.pooling_factors = factors->get<std::vector<double>>();
    table.whole_pooling_factors = whole_numbers(*factors);
  }
  if (const Json* poolings = fields.given("num_poolings")) {
    table.num_poolings = poolings->get<std::vector<double>>();
    table.whole_num_poolings = whole_numbers(*poolings);
  }
  table.batch_sizes = fields.reals("batch_sizes");
  if (const Json* factor = fields.given("cache_load_factor")) table.cache_load_factor = factor->get<double>();
  if (const Json* cache = fields.given("kv_max_l1_cache_size_mb")) table.max_l1_cache_mb = cache->get<double>();
  if (const Json* least = fields.given("min_partition")) table.min_partition = least->get<std::int64_t>();
  if (!table.pooled) table.weighted = fields.flag("is_weighted", false);
  fields.ignore({"is_weighted", "feature_names"});
  if (const Json* types = fields.given("sharding_types")) item.constraints.sharding_types = types_of(*types);
  if (const Json* kernels = fields.given("compute_kernels")) item.constraints.compute_kernels = kernels_of(*kernels);
  table.kernels_constrained = !item.constraints.compute_kernels.empty();
  fields.finish();
}

struct Modules {
  std::string pooled, sequence;
};

ConstrainedTable read_table(const Json& json, const Modules& modules, bool weighted, Optimizer optimizer) {
  Fields fields(json, "table");
  ConstrainedTable item;
  TableSpec& table = item.table;
  table.name = fields.text("name");
  table.rows = fields.whole("rows");
  table.dim = fields.whole("dim");
  table.element_bytes = dtype_bytes(fields.text("dtype"));
  table.pooled = fields.flag("pooled", true);
  table.module = table.pooled ? modules.pooled : modules.sequence;
  table.weighted = table.pooled && weighted;
  table.optimizer = optimizer;
  fields.ignore({"features"});
  fields.finish();
  return item;
}

std::vector<ConstrainedTable> read_tables(Fields& fields) {
  Fields paths(fields.at("module_paths"), "module_paths");
  const Modules modules{paths.text("pooled"), paths.text("sequence")};
  const Optimizer optimizer = optimizer_of(fields.text("optimizer"));
  const bool weighted = fields.flag("weighted_ebc", false);
  const Json* constraints = fields.given("constraints");
  std::vector<ConstrainedTable> sequence, pooled;
  for (const Json& json : fields.at("tables")) {
    ConstrainedTable item = read_table(json, modules, weighted, optimizer);
    if (constraints && constraints->contains(item.table.name)) constrain(item, constraints->at(item.table.name));
    (item.table.pooled ? pooled : sequence).push_back(item);
  }
  sequence.insert(sequence.end(), pooled.begin(), pooled.end());
  return sequence;
}

}  // namespace

ReservationSettings read_reservation(const Json& json) {
  Fields given(json, "storage_reservation");
  ReservationSettings settings;
  const std::string type = given.text("type");
  if (type == "fixed_percentage") {
    settings.kind = ReservationKind::fixed_percentage;
  } else if (type == "inference") {
    settings.kind = ReservationKind::inference;
  } else if (type == "fixed_absolute") {
    settings.kind = ReservationKind::fixed_absolute;
    settings.absolute = static_cast<std::int64_t>(given.real("hbm_reserved_gb") * kGiB);
  } else if (type == "sku_aware") {
    settings.kind = ReservationKind::sku_aware;
    settings.margin = given.whole("margin_bytes");
  } else if (type != "heuristical") {
    throw std::runtime_error(fmt::format("unknown storage reservation '{}'", type));
  }
  if (const Json* share = given.given("percentage")) settings.percentage = share->get<double>();
  if (const Json* factor = given.given("parameter_multiplier")) settings.parameter_multiplier = factor->get<double>();
  if (const Json* dense = given.given("dense_tensor_estimate")) settings.dense_tensor_estimate = dense->get<double>();
  if (const Json* bytes = given.given("runtime_overhead_bytes")) settings.runtime_overhead = bytes->get<std::int64_t>();
  if (const Json* bytes = given.given("model_base_bytes")) settings.model_base = bytes->get<std::int64_t>();
  given.finish();
  return settings;
}

namespace {

std::vector<ProposerKind> read_proposers(const Json& names) {
  const std::pair<const char*, ProposerKind> known[] = {
      {"grid_search", ProposerKind::grid_search},
      {"greedy", ProposerKind::greedy},
      {"greedy_sum", ProposerKind::greedy_sum},
      {"uniform", ProposerKind::uniform},
      {"dynamic_programming", ProposerKind::dynamic_programming},
      {"embedding_offload_scaleup", ProposerKind::embedding_offload_scaleup}};
  std::vector<ProposerKind> kinds;
  for (const Json& name : names) {
    const std::size_t before = kinds.size();
    for (const auto& [text, kind] : known) {
      if (name == text) kinds.push_back(kind);
    }
    if (kinds.size() == before) throw std::runtime_error(fmt::format("unknown proposer {}", name.dump()));
  }
  return kinds;
}

PartitionerSettings read_partitioner(const std::string& name) {
  PartitionerSettings settings;
  if (name == "memory_balanced") {
    settings.kind = PartitionerKind::memory_balanced;
  } else if (name == "greedy_perf_sorted_by_perf") {
    settings.sort_by_perf = true;
  } else if (name != "greedy_perf_sorted_by_storage") {
    throw std::runtime_error(fmt::format("unknown partitioner '{}'", name));
  }
  return settings;
}

RunSettings read_settings(Fields& fields, PlannerVersion version) {
  RunSettings settings;
  settings.topology = read_topology(fields.at("topology"), version);
  settings.estimate.version = version;
  settings.estimate.batch_size = fields.real("batch_size");
  settings.estimate.pipeline = parse_pipeline(fields.text("pipeline_type"), {"input"});
  settings.reservation = read_reservation(fields.at("storage_reservation"));
  settings.reservation.dense_parameter_bytes = fields.real("dense_parameter_bytes");
  settings.reservation.dense_buffer_bytes = fields.real("dense_buffer_bytes");
  settings.proposers = read_proposers(fields.at("proposers"));
  settings.partitioner = read_partitioner(fields.text("partitioner"));
  const Json& types = fields.at("sharder_sharding_types");
  if (types != "default") settings.sharders.types = types_of(types);
  const Json& kernels = fields.at("sharder_compute_kernels");
  if (kernels != "default") settings.sharders.kernels = kernels_of(kernels);
  return settings;
}

Json plan_json(const RunResult& run) {
  Json plan = Json::object();
  for (std::size_t i = 0; i < run.plan.size(); ++i) {
    const ShardingOption& option = run.plan[i];
    const auto ranks = run.assignment.of(i);
    plan[run.space.table_of(option).fqn()] = {{"sharding_type", name_of(option.type)},
                                              {"compute_kernel", name_of(option.kernel)},
                                              {"ranks", std::vector<int>(ranks.begin(), ranks.end())},
                                              {"total_hbm_bytes", option.total.hbm},
                                              {"total_ddr_bytes", option.total.ddr},
                                              {"total_ssd_bytes", option.total.ssd},
                                              {"total_perf_ms", option.sum}};
  }
  return plan;
}

Json plan_order(const RunResult& run) {
  Json order = Json::array();
  for (const ShardingOption& option : run.plan) order.push_back(run.space.table_of(option).fqn());
  return order;
}

// The lines of the statistics that version 2026-08 has added or changed, from our own document.
Json newest_lines(const Json& stats, const Statistics& statistics) {
  Json lines;
  lines["line_width"] = line_width(statistics);
  for (const Json& row : stats.at("kernels")) {
    const std::string name = row.at("kernel").get<std::string>();
    lines["kernels_count"][name] = row.at("count");
    lines["kernels_weights_gb"][name] = row.at("weights_gb");
    lines["kernels_optimizer_gb"][name] = row.at("optimizer_gb");
    lines["kernels_total_gb"][name] = {row.at("hbm_gb"), row.at("ddr_gb"), row.at("ssd_gb")};
  }
  for (const char* const key : {"kernel_constraints", "reserved", "planning", "dense", "kjt", "ranks"}) {
    lines[key] = stats.at(key);
  }
  lines["tables"] = Json::array();
  for (const Json& row : stats.at("tables")) {
    lines["tables"].push_back({{"fqn", row.at("fqn")},
                               {"sharding", row.at("sharding")},
                               {"kernel", row.at("compute_kernel")},
                               {"perf_ms", row.at("perf_ms")},
                               {"storage_gb", {row.at("hbm_gb"), row.at("ddr_gb"), row.at("ssd_gb")}}});
  }
  return lines;
}

Json run_json(const RunResult& run, const RunSettings& settings) {
  const bool newest = settings.estimate.version == PlannerVersion::v2026_08;
  Json json = {{"num_proposals", run.num_proposals},
               {"num_plans", run.num_plans},
               {"num_search_space_options", run.space.options.size()}};
  const Statistics statistics = statistics_of(run, settings);
  json["stats"] = Json::parse(statistics_json(statistics));
  json["stats"]["line_width"] = line_width(statistics);
  if (newest) json["stats_2026"] = newest_lines(json["stats"], statistics);
  if (!run.found || !run.violations.empty()) json.update(error_json(run.failure, settings.estimate.version));
  if (!run.found) {
    json["report"] = Json::parse(failure_report_json(run, settings));
    return json;
  }
  json["best_perf_rating"] = run.rating;
  json["reserved_hbm_per_rank"] = run.reservation.topology.devices.front().hbm;
  json["dense_hbm"] = run.reservation.dense.hbm;
  json["kjt_hbm"] = run.reservation.kjt.hbm;
  json["plan_order"] = plan_order(run);
  json["plan"] = plan_json(run);
  json["serialized_plan"] = Json::parse(sharding_plan_json(run, settings.topology));
  if (newest) json["serialized_plan"] = Json(json["serialized_plan"]["plan"]);  // without the map around it
  return json;
}

}  // namespace

std::vector<std::string> check_plan(const Json& input, const Json& expect, PlannerVersion version) {
  Fields fields(input, "input");
  const auto tables = read_tables(fields);
  const RunSettings settings = read_settings(fields, version);
  fields.finish();
  try {
    return differences(expect, run_json(run_planner(tables, settings), settings));
  } catch (const PlannerError& error) {
    Json failed = error_json(error.failure(), version);
    failed["num_proposals"] = failed["num_plans"] = 0;
    return differences(expect, failed);
  }
}

}  // namespace shardsim::golden
