// Runs of the cache scale-up proposer, as TorchRec's unit tests have them.

#include <fmt/format.h>

#include <cmath>

#include "tests/case_file/compare.h"
#include "tests/plan/torchrec/golden/inputs.h"
#include "tests/plan/torchrec/golden/kinds.h"
#include "tests/plan/torchrec/golden/offload_scaleup.h"

namespace shardsim::golden {

using namespace torchrec;

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
    const std::int64_t hbm = total_hbm(*proposal);
    const double rating = std::abs(static_cast<double>(hbm) - target);
    const bool fits = static_cast<double>(hbm) < most;
    if (fits && rating < best) {
      best = rating;
      result.hbm = hbm;
      result.best.clear();
      for (const ShardingOption* option : *proposal) result.best.push_back(*option);
    }
    proposer->feedback(fits ? std::optional(rating) : std::nullopt);
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

}  // namespace shardsim::golden
