// Values that TorchRec's own unit tests state, with the models of those tests.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "plan/torchrec/report/statistics.h"
#include "plan/torchrec/search/planner_run.h"
#include "plan/torchrec/search/proposer.h"
#include "tests/case_file/compare.h"
#include "tests/plan/torchrec/golden/inputs.h"
#include "tests/plan/torchrec/golden/kinds.h"
#include "tests/plan/torchrec/golden/offload_scaleup.h"

namespace shardsim::golden {
namespace {

using namespace torchrec;

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
  const auto proposer = make_greedy_proposer(space, true);
  EarlyStop early(stop.at("threshold").get<int>());
  double rating = stop.at("first_rating").get<double>();
  int count = 0;
  while (++count && proposer->propose() != nullptr) {
    if (early.after(rating)) return count + 1;
    proposer->advance();
    rating += stop.at("rating_step").get<double>();
  }
  return count;
}

int count_proposals(Proposer& proposer) {
  int count = 0;
  while (proposer.propose() != nullptr) {
    ++count;
    proposer.advance();
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
    proposer->advance();
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
    uniform->advance();
  }
  return differences(
      expect,
      {{"uniform_types", types},
       {"grid_search_options_per_table", options_by_table(proposal_of(space.options)).front().size()},
       {"grid_search_num_proposals", count_proposals(*make_grid_search_proposer(space))},
       {"dynamic_programming_num_proposals", count_proposals(*make_dynamic_programming_proposer(space, large))}});
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
    bytes.push_back(reserve(settings, topology, {tables.front()}, estimate).dense.hbm);
  }
  fields.finish();
  return differences(expect, {{"dense_hbm_bytes", bytes}});
}

}  // namespace shardsim::golden
