#include <fmt/format.h>

#include <map>

#include "plan/torchrec/search/proposer.h"
#include "tests/case_file/compare.h"
#include "tests/plan/torchrec/golden/inputs.h"
#include "tests/plan/torchrec/golden/kinds.h"
#include "tests/plan/torchrec/golden/offload_scaleup.h"

namespace shardsim::golden {
namespace {

using namespace torchrec;

void add_option(SearchSpace& space, std::map<std::string, int>& tables, std::vector<Json>& ids, const Json& json) {
  Fields fields(json, "option");
  const std::string name = fields.text("table");
  const auto [found, added] = tables.try_emplace(name, static_cast<int>(tables.size()));
  if (added) {
    space.tables.emplace_back();
    space.tables.back().name = name;
  }
  ShardingOption option;
  option.table = found->second;
  option.type = parse_sharding_type(fields.text("sharding_type"), {"option"});
  option.kernel = parse_compute_kernel(fields.text("compute_kernel"), {"option"});
  option.partition = partition_by(option.type);
  for (const Json& shard : fields.at("shards")) option.runs.push_back(read_given_shard(shard));
  option.summarise();
  space.options.push_back(option);
  ids.push_back(fields.at("option_id"));
  fields.finish();
}

std::unique_ptr<Proposer> make(const Json& json, const SearchSpace& space, const Topology& topology) {
  Fields fields(json, "proposer");
  const std::string type = fields.text("type");
  const bool depth = fields.flag("use_depth", true);
  fields.ignore({"threshold"});
  const Json* bins = fields.given("hbm_bins_per_device");
  const Json* most = fields.given("max_proposals");
  fields.finish();
  if (type == "greedy") return make_greedy_proposer(space, depth);
  if (type == "uniform") return make_uniform_proposer(space, depth);
  if (type == "grid_search") return make_grid_search_proposer(space, most ? most->get<double>() : 10000);
  if (type == "dynamic_programming") {
    return make_dynamic_programming_proposer(space, topology, bins ? bins->get<int>() : 100);
  }
  throw std::runtime_error(fmt::format("unknown proposer '{}'", type));
}

std::optional<double> rating_of(const Json* ratings, std::size_t proposal) {
  if (ratings == nullptr || proposal >= ratings->size() || ratings->at(proposal).is_null()) return std::nullopt;
  return ratings->at(proposal).get<double>();
}

Json propose(const Json& input) {
  Fields fields(input, "input");
  SearchSpace space;
  std::map<std::string, int> tables;
  std::vector<Json> ids;
  for (const Json& option : fields.at("search_space")) add_option(space, tables, ids, option);
  const Topology topology =
      default_topology(static_cast<int>(fields.whole("world_size")), fields.whole("hbm_cap_per_rank"));
  const Json& wanted = fields.at("proposer");
  const auto proposer = make(wanted, space, topology);
  EarlyStop early(wanted.contains("threshold") && !wanted["threshold"].is_null() ? wanted["threshold"].get<int>() : 0);
  bool stopped = false;
  const Json* ratings = fields.given("feedback_perf_ratings");
  const auto most = static_cast<std::size_t>(fields.whole("max_recorded"));
  fields.finish();
  Json proposals = Json::array();
  const auto current = [&] { return stopped ? nullptr : proposer->propose(); };
  while (const Proposal* proposal = current()) {
    if (proposals.size() == most) break;
    Json list = Json::array();
    for (const ShardingOption* option : *proposal) {
      list.push_back(ids[static_cast<std::size_t>(option - space.options.data())]);
    }
    stopped = early.after(rating_of(ratings, proposals.size()));
    proposer->advance();
    proposals.push_back(list);
  }
  return {{"num_proposals", proposals.size()}, {"truncated", current() != nullptr}, {"proposals", proposals}};
}

}  // namespace

std::vector<std::string> check_propose(const Json& input, const Json& expect) {
  return differences(expect, propose(input));
}

}  // namespace shardsim::golden
