// Values that TorchRec's own unit tests state, with the models of those tests.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "plan/torchrec/planner_run.h"
#include "plan/torchrec/proposer.h"
#include "plan/torchrec/statistics_text.h"
#include "tests/plan/torchrec/golden/compare.h"
#include "tests/plan/torchrec/golden/inputs.h"
#include "tests/plan/torchrec/golden/kinds.h"

namespace shardsim::golden {
namespace {

using namespace torchrec;

ConstrainedTable plain_table(const std::string& name, const Json& json) {
  ConstrainedTable item;
  item.table.name = name;
  item.table.rows = json.at("rows").get<std::int64_t>();
  item.table.dim = json.at("dim").get<std::int64_t>();
  return item;
}

std::vector<ShardingType> types_of(const Json& names) {
  std::vector<ShardingType> types;
  for (const Json& name : names) types.push_back(parse_sharding_type(name.get<std::string>(), {"input"}));
  return types;
}

std::vector<ShardingType> all_types() {
  return sharder_types(true, Device::cuda);
}

// table_0, table_1 ... with every sharding type allowed.
std::vector<ConstrainedTable> numbered_tables(const Json& list, const std::vector<ShardingType>& allowed) {
  std::vector<ConstrainedTable> tables;
  for (const Json& json : list) {
    tables.push_back(plain_table(fmt::format("table_{}", tables.size()), json));
    tables.back().constraints.sharding_types = allowed;
  }
  return tables;
}

EstimateSettings batches_of(std::int64_t batch_size) {
  EstimateSettings settings;
  settings.batch_size = static_cast<double>(batch_size);
  return settings;
}

// As the unit test lists a proposal: by the slowest shard, then by table.
Json proposal_json(Proposal proposal, const SearchSpace& space) {
  std::sort(proposal.begin(), proposal.end(), [&](const ShardingOption* a, const ShardingOption* b) {
    return a->depth != b->depth ? a->depth < b->depth : space.table_of(*a).name < space.table_of(*b).name;
  });
  Json json = Json::array();
  for (const ShardingOption* option : proposal) {
    json.push_back({space.table_of(*option).name, name_of(option->type), name_of(option->kernel)});
  }
  return json;
}

int first_empty(const SearchSpace& space, const Json& stop) {
  const auto proposer = make_greedy_proposer(space, true, stop.at("threshold").get<int>());
  double rating = stop.at("first_rating").get<double>();
  int count = 0;
  while (++count && proposer->propose() != nullptr) {
    proposer->feedback({true, rating, nullptr});
    rating += stop.at("rating_step").get<double>();
  }
  return count;
}

int count_proposals(Proposer& proposer, const Topology& topology) {
  int count = 0;
  while (proposer.propose() != nullptr) {
    ++count;
    proposer.feedback({true, std::nullopt, &topology});
  }
  return count;
}

void require_cuda_bags(Fields& fields) {
  if (fields.text("compute_device") != "cuda" || fields.text("module") != "embedding_bag_collection") {
    throw std::runtime_error("only a pooled collection on cuda is known here");
  }
}

}  // namespace

std::vector<std::string> check_proposer_sequence(const Json& input, const Json& expect) {
  Fields fields(input, "input");
  require_cuda_bags(fields);
  SharderLists lists;
  lists.types = types_of(fields.at("sharding_type_order"));
  fields.ignore({"grid_shard_enabled", "proposer"});
  const Topology topology = default_topology(static_cast<int>(fields.whole("world_size")), 0);
  const SearchSpace space = enumerate_options(numbered_tables(fields.at("tables"), all_types()), lists, topology,
                                              batches_of(fields.whole("batch_size")));
  const auto proposer = make_greedy_proposer(space, true);
  Json first = Json::array();
  while (first.size() < 5 && proposer->propose() != nullptr) {
    first.push_back(proposal_json(*proposer->propose(), space));
    proposer->feedback({true, std::nullopt, nullptr});
  }
  const Json& stop = fields.at("early_stop");
  fields.finish();
  return differences(
      expect,
      {{"first_five", first},
       {"early_stop", {{"first_empty_propose", first_empty(space, stop)}, {"best_rating", stop.at("first_rating")}}}});
}

std::vector<std::string> check_proposer_count(const Json& input, const Json& expect) {
  Fields fields(input, "input");
  require_cuda_bags(fields);
  const EstimateSettings settings = batches_of(fields.whole("batch_size"));
  const Topology topology = default_topology(static_cast<int>(fields.whole("world_size")), 0);
  const Json& tables = fields.at("tables");
  const SearchSpace space = enumerate_options(numbered_tables(tables, all_types()), {}, topology, settings);
  const SearchSpace four = enumerate_options(
      numbered_tables(tables, types_of(fields.at("uniform_sharding_types_allowed"))), {}, topology, settings);
  const Topology large = default_topology(topology.world_size, fields.whole("dynamic_programming_hbm_cap"));
  fields.finish();
  Json types = Json::array();
  const auto uniform = make_uniform_proposer(four);
  while (const Proposal* proposal = uniform->propose()) {
    types.push_back(name_of(proposal->front()->type));
    uniform->feedback({});
  }
  return differences(
      expect,
      {{"uniform_types", types},
       {"grid_search_options_per_table", options_by_table(space.options).front().size()},
       {"grid_search_num_proposals", count_proposals(*make_grid_search_proposer(space), topology)},
       {"dynamic_programming_num_proposals", count_proposals(*make_dynamic_programming_proposer(space), large)}});
}

namespace {

ConstrainedTable scaleup_table(const Json& json, std::size_t index, const std::string& columns) {
  Fields fields(json, "table");
  ConstrainedTable item = plain_table(fmt::format("table_{}", index), json);
  fields.ignore({"rows", "dim"});
  if (fields.text("dtype") != "fp32" || columns != "200") throw std::runtime_error("only fp32 in 200 columns is known");
  item.constraints.sharding_types = {parse_sharding_type(fields.text("sharding_type"), {"table"})};
  item.constraints.compute_kernels = {parse_compute_kernel(fields.text("compute_kernel"), {"table"})};
  if (const Json* cache = fields.given("cache")) {
    item.table.cache_load_factor = cache->at("load_factor").get<double>();
    item.table.cache_statistics = {cache->at("expected_lookups").get<double>(), cache->at("cacheability").get<double>(),
                                   [](double factor) { return factor; }};
  }
  fields.finish();
  return item;
}

struct Scaleup {
  int proposals = -1;  // the unit tests count those after the starting one: one per probe of the search
  std::int64_t hbm = 0;
  std::vector<ShardingOption> best;
};

// The proposer run with a made-up rating; larger plans than `most` bytes find no place.
Scaleup run_scaleup(Fields& fields, double target, double most) {
  const Topology topology =
      default_topology(static_cast<int>(fields.whole("world_size")), fields.whole("hbm_cap_per_rank"));
  EstimateSettings settings = batches_of(fields.whole("batch_size"));
  settings.without_cache_aux = fields.whole("cache_aux_bytes") == 0;
  std::vector<ConstrainedTable> tables;
  const std::string columns = fields.at("columns_per_shard").dump();
  for (const Json& json : fields.at("tables")) tables.push_back(scaleup_table(json, tables.size(), columns));
  const SearchSpace space = enumerate_options(tables, {}, topology, settings);
  const auto proposer = make_offload_scaleup_proposer(space, topology, settings);
  Scaleup result;
  double best = INFINITY;
  while (const Proposal* proposal = proposer->propose()) {
    ++result.proposals;
    const std::int64_t hbm = total_storage(*proposal).hbm;
    const double rating = std::abs(static_cast<double>(hbm) - target);
    const bool fits = static_cast<double>(hbm) < most;
    if (fits && rating < best) {
      best = rating;
      result.hbm = hbm;
      result.best.clear();
      for (const ShardingOption* option : *proposal) result.best.push_back(*option);
    }
    proposer->feedback({fits, fits ? std::optional(rating) : std::nullopt, &topology});
  }
  return result;
}

double target_bytes(Fields& fields) {
  return fields.at("rating").at("target_gib").get<double>() * kGiB;
}

}  // namespace

std::vector<std::string> check_scaleup(const Json& input, const Json& expect) {
  Fields fields(input, "input");
  fields.ignore({"compute_device", "shards_per_table", "miss_rate"});
  const Scaleup found = run_scaleup(fields, target_bytes(fields), INFINITY);
  fields.finish();
  Json factors = Json::array();
  for (const ShardingOption& option : found.best) {
    factors.push_back(option.load_factor ? Json(*option.load_factor) : Json(nullptr));
  }
  return differences(
      expect, {{"num_proposals", found.proposals}, {"best_hbm_bytes", found.hbm}, {"best_load_factors", factors}});
}

std::vector<std::string> check_budget_shrink(const Json& input, const Json& expect) {
  Fields fields(input, "input");
  fields.ignore({"compute_device", "shards_per_table", "hbm_cap_gib"});
  const double most = fields.real("partitionable_if_total_hbm_below_gib") * kGiB;
  const Scaleup found = run_scaleup(fields, target_bytes(fields), most);
  fields.finish();
  // The sharding of this unit test is inferred: its figure is met to 2e-8.
  return differences(
      expect, {{"num_proposals", found.proposals}, {"best_hbm_gib", static_cast<double>(found.hbm) / kGiB}}, 3e-8);
}

std::vector<std::string> check_dense_reservation(const Json& input, const Json& expect) {
  Fields fields(input, "input");
  const Json& dense = fields.at("dense_linear");
  const auto in = dense.at("in").get<double>();
  const auto out = dense.at("out").get<double>();
  const auto tables = numbered_tables(fields.at("tables"), {});
  ReservationSettings settings;
  settings.percentage = fields.real("percentage");
  settings.parameter_multiplier = fields.real("parameter_multiplier");
  settings.dense_parameter_bytes = (in * out + (dense.at("bias").get<bool>() ? out : 0)) * 4;
  const Topology topology = default_topology(static_cast<int>(fields.whole("world_size")), 0);
  const EstimateSettings estimate = batches_of(fields.whole("batch_size"));
  Json bytes = Json::array();
  for (const Json& given : fields.at("dense_tensor_estimate")) {
    settings.dense_tensor_estimate = given.is_null() ? std::nullopt : std::optional(given.get<double>());
    bytes.push_back(reserve(settings, topology, {tables.front().table}, estimate).dense.hbm);
  }
  fields.finish();
  return differences(expect, {{"dense_hbm_bytes", bytes}});
}

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
    return {{"error", "PlannerError"}, {"error_type", name_of(run.failure)}, {"num_proposals", run.num_proposals}};
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
