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
  if (const Json* least = fields.given("min_partition")) table.min_partition = least->get<std::int64_t>();
  if (!table.pooled) table.weighted = fields.flag("is_weighted", false);
  fields.ignore({"is_weighted", "feature_names"});
  if (const Json* types = fields.given("sharding_types")) item.constraints.sharding_types = types_of(*types);
  if (const Json* kernels = fields.given("compute_kernels")) item.constraints.compute_kernels = kernels_of(*kernels);
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

ReservationSettings read_reservation(Fields& fields) {
  Fields given(fields.at("storage_reservation"), "storage_reservation");
  ReservationSettings settings;
  const std::string type = given.text("type");
  if (type == "fixed_percentage") {
    settings.kind = ReservationKind::fixed_percentage;
  } else if (type == "inference") {
    settings.kind = ReservationKind::inference;
  } else if (type != "heuristical") {
    throw std::runtime_error(fmt::format("unknown storage reservation '{}'", type));
  }
  settings.percentage = given.real("percentage");
  if (const Json* factor = given.given("parameter_multiplier")) settings.parameter_multiplier = factor->get<double>();
  if (const Json* dense = given.given("dense_tensor_estimate")) settings.dense_tensor_estimate = dense->get<double>();
  given.finish();
  settings.dense_parameter_bytes = fields.real("dense_parameter_bytes");
  settings.dense_buffer_bytes = fields.real("dense_buffer_bytes");
  return settings;
}

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

RunSettings read_settings(Fields& fields) {
  RunSettings settings;
  settings.topology = read_topology(fields.at("topology"));
  settings.estimate.batch_size = fields.real("batch_size");
  settings.estimate.pipeline = parse_pipeline(fields.text("pipeline_type"), {"input"});
  settings.reservation = read_reservation(fields);
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
                                              {"total_perf_ms", option.sum}};
  }
  return plan;
}

Json plan_order(const RunResult& run) {
  Json order = Json::array();
  for (const ShardingOption& option : run.plan) order.push_back(run.space.table_of(option).fqn());
  return order;
}

Json run_json(const RunResult& run, const RunSettings& settings) {
  Json json = {{"num_proposals", run.num_proposals},
               {"num_plans", run.num_plans},
               {"num_search_space_options", run.space.options.size()}};
  const Statistics statistics = statistics_of(run, settings);
  json["stats"] = Json::parse(statistics_json(statistics));
  json["stats"]["line_width"] = line_width(statistics);
  if (!run.found) {
    json["error"] = "PlannerError";
    json["error_type"] = failure_name(run.failure);
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
  return json;
}

}  // namespace

std::vector<std::string> check_plan(const Json& input, const Json& expect) {
  Fields fields(input, "input");
  const auto tables = read_tables(fields);
  const RunSettings settings = read_settings(fields);
  fields.finish();
  return differences(expect, run_json(run_planner(tables, settings), settings));
}

}  // namespace shardsim::golden
