#include <fmt/format.h>

#include <map>

#include "plan/torchrec/search/partitioner.h"
#include "tests/case_file/compare.h"
#include "tests/plan/torchrec/golden/failure_name.h"
#include "tests/plan/torchrec/golden/inputs.h"
#include "tests/plan/torchrec/golden/kinds.h"

namespace shardsim::golden {
namespace {

using namespace torchrec;

PartitionBy partition_named(const std::string& name) {
  for (const auto by : {PartitionBy::device, PartitionBy::host, PartitionBy::uniform, PartitionBy::multi_host}) {
    if (rule_name(by) == name) return by;
  }
  throw std::runtime_error(fmt::format("unknown partition_by '{}'", name));
}

void add_option(SearchSpace& space, const Json& json) {
  Fields fields(json, "sharding option");
  TableSpec table;
  table.name = fields.text("name");
  table.module = fields.text("module_path");
  if (const Json* dependency = fields.given("dependency")) table.dependency = dependency->get<std::string>();
  ShardingOption option;
  option.table = static_cast<int>(space.tables.size());
  option.type = parse_sharding_type(fields.text("sharding_type"), {"option"});
  option.partition = partition_named(fields.text("partition_by"));
  if (const Json* kernel = fields.given("compute_kernel")) {
    option.kernel = parse_compute_kernel(kernel->get<std::string>(), {"option"});
  }
  for (const Json& shard : fields.at("shards")) option.runs.push_back(read_given_shard(shard));
  option.summarise();
  fields.finish();
  space.tables.push_back(table);
  space.options.push_back(option);
}

PartitionerSettings read_partitioner(const Json& json) {
  Fields fields(json, "partitioner");
  PartitionerSettings settings;
  const std::string type = fields.text("type");
  if (type != "greedy_perf" && type != "memory_balanced")
    throw std::runtime_error(fmt::format("unknown partitioner {}", type));
  if (type == "memory_balanced") settings.kind = PartitionerKind::memory_balanced;
  if (const Json* by = fields.given("sort_by")) settings.sort_by_perf = *by == "perf";
  settings.balance_modules = fields.flag("balance_modules", false);
  if (const Json* most = fields.given("max_search_count")) settings.max_search_count = most->get<int>();
  if (const Json* tolerance = fields.given("tolerance")) settings.tolerance = tolerance->get<double>();
  fields.finish();
  return settings;
}

Json result_json(const Proposal& proposal, const SearchSpace& space, const Assignment& assignment, int world_size) {
  Json ranks, hbm = Json::array(), ddr = Json::array(), ssd = Json::array();
  std::vector<double> perf(static_cast<std::size_t>(world_size));
  for (std::size_t i = 0; i < proposal.size(); ++i) {
    const auto of = assignment.of(i);
    ranks[space.table_of(*proposal[i]).name] = std::vector<int>(of.begin(), of.end());
    std::size_t shard = 0;
    for (const ShardRun& run : proposal[i]->runs) {
      for (int k = 0; k < run.count; ++k) perf[static_cast<std::size_t>(of[shard++])] += run.perf.total();
    }
  }
  for (const Storage& storage : storage_per_rank(proposal, assignment, world_size)) {
    hbm.push_back(storage.hbm);
    ddr.push_back(storage.ddr);
    ssd.push_back(storage.ssd);
  }
  return {{"ranks", ranks},
          {"hbm_per_rank", hbm},
          {"ddr_per_rank", ddr},
          {"ssd_per_rank", ssd},
          {"perf_per_rank", perf},
          {"noop_perf_rating", perf_rating(proposal, assignment, world_size)},
          {"noop_storage_rating", storage_rating(proposal, assignment, world_size)}};
}

Json partition(const Json& input, PlannerVersion version) {
  Fields fields(input, "input");
  const Topology topology = read_topology(fields.at("topology"), version);
  PartitionerSettings settings = read_partitioner(fields.at("partitioner"));
  settings.key_value_columns_apart = version == PlannerVersion::v2026_08;
  SearchSpace space;
  for (const Json& option : fields.at("sharding_options")) add_option(space, option);
  fields.finish();
  Proposal proposal;
  for (const ShardingOption& option : space.options) proposal.push_back(&option);
  Partitioner partitioner(settings, space, topology);
  if (!partitioner.partition(proposal)) return {{"error", "PlannerError"}, {"error_type", "partition"}};
  return result_json(proposal, space, partitioner.assignment(), topology.world_size);
}

}  // namespace

std::vector<std::string> check_partition(const Json& input, const Json& expect, PlannerVersion version) {
  return differences(expect, partition(input, version));
}

std::vector<std::string> check_perf_models(const Json& input, const Json& expect) {
  Fields fields(input, "input");
  const int world_size = static_cast<int>(fields.whole("world_size"));
  std::vector<ShardingOption> options;
  Assignment assignment;
  assignment.first = {0};
  for (const Json& json : fields.at("shards")) {
    Fields shard(json, "shard");
    ShardingOption option;
    ShardRun run;
    run.perf.fwd_compute = shard.real("perf_total");
    run.storage.hbm = shard.whole("hbm");
    option.runs = {run};
    option.summarise();
    options.push_back(option);
    assignment.ranks.push_back(static_cast<int>(shard.whole("rank")));
    assignment.first.push_back(assignment.ranks.size());
    shard.finish();
  }
  fields.finish();
  Proposal proposal;
  for (const ShardingOption& option : options) proposal.push_back(&option);
  return differences(expect, {{"noop_perf_model", perf_rating(proposal, assignment, world_size)},
                              {"noop_storage_model", storage_rating(proposal, assignment, world_size)}});
}

}  // namespace shardsim::golden
