// The small kinds: one formula each.

#include <cmath>

#include "plan/torchrec/estimate/shard_estimate.h"
#include "plan/torchrec/report/statistics.h"
#include "tests/case_file/compare.h"
#include "tests/plan/torchrec/golden/inputs.h"
#include "tests/plan/torchrec/golden/kinds.h"
#include "tests/plan/torchrec/golden/miss_ratio.h"
#include "tests/plan/torchrec/golden/storage_hash.h"

namespace shardsim::golden {
namespace {

using namespace torchrec;

std::optional<double> maybe(const Json* value) {
  return value ? std::optional(value->get<double>()) : std::nullopt;
}

Json bandwidth_json(const Topology& topology, const std::string& kernel, std::optional<double> ratio, bool prefetch) {
  const auto rate = kernel_bandwidth(topology, parse_compute_kernel(kernel, {"input"}), ratio, prefetch);
  return rate ? Json(*rate) : Json(nullptr);
}

Json imbalance_json(const Imbalance& measures) {
  return {{"total_variation", measures.total_variation},
          {"total_distance", measures.total_distance},
          {"chi_sq_divergence_raw", measures.chi_raw},
          {"kl_divergence_raw", measures.kl_raw},
          {"max_chi_sq", measures.chi_most},
          {"max_kl", measures.kl_most},
          {"chi_divergence_printed", measures.chi()},
          {"kl_divergence_printed", measures.kl()}};
}

void append(std::vector<std::string>& to, const std::vector<std::string>& more) {
  to.insert(to.end(), more.begin(), more.end());
}

bool near(double a, double b, double tolerance) {
  return std::abs(a - b) <= tolerance * std::max({1.0, std::abs(a), std::abs(b)});
}

}  // namespace

std::vector<std::string> check_kernel_bw(const Json& input, const Json& expect, PlannerVersion version) {
  Fields fields(input, "input");
  Topology topology;
  topology.device = parse_device(fields.text("compute_device"), {"input"});
  topology.hbm_bandwidth = fields.real("hbm_mem_bw");
  topology.ddr_bandwidth = fields.real("ddr_mem_bw");
  topology.hbm_to_ddr_bandwidth = fields.real("hbm_to_ddr_mem_bw");
  if (const Json* ssd = fields.given("ssd_mem_bw")) topology.ssd_bandwidth = ssd->get<double>();
  topology = as_seen_by(version, topology);
  const Json rate = bandwidth_json(topology, fields.text("compute_kernel"), maybe(fields.given("caching_ratio")),
                                   fields.flag("prefetch_pipeline", false));
  fields.finish();
  return differences(expect, {{"bytes_per_ms", rate}});
}

std::vector<std::string> check_kernel_bw_list(const Json& input, const Json& expect) {
  Fields fields(input, "input");
  const std::string kernel = fields.text("compute_kernel");
  const Topology topology = as_seen_by(PlannerVersion::v2025_10, {});
  Json plain = Json::array(), prefetch = Json::array();
  for (const double ratio : fields.reals("caching_ratios")) {
    plain.push_back(bandwidth_json(topology, kernel, ratio, false));
    prefetch.push_back(bandwidth_json(topology, kernel, ratio, true));
  }
  fields.finish();
  return differences(expect, {{"no_prefetch", plain}, {"prefetch_pipeline", prefetch}});
}

std::vector<std::string> check_imbalance(const Json& input, const Json& expect) {
  Fields fields(input, "input");
  const auto values = fields.reals("values");
  fields.finish();
  return differences(expect, imbalance_json(imbalance(values)));
}

std::vector<std::string> check_imbalance_list(const Json& input, const Json& expect) {
  Fields fields(input, "input");
  const Json& distributions = fields.at("distributions");
  fields.finish();
  std::vector<Imbalance> measures;
  for (const Json& values : distributions) measures.push_back(imbalance(values.get<std::vector<double>>()));
  Fields wanted(expect, "expect");
  const Json& applies = wanted.at("applies_to");
  const double kl_tolerance = 0.5 * std::pow(10, -wanted.real("kl_decimals"));
  std::vector<std::string> found;
  for (const char* name : {"total_variation", "total_distance", "chi_raw", "kl_raw"}) {
    const Json& values = wanted.at(name);
    for (const Json& index : applies.at(name)) {
      const Imbalance& of = measures.at(index.get<std::size_t>());
      const double all[] = {of.total_variation, of.total_distance, of.chi_raw, of.kl_raw};
      const bool kl = std::string(name) == "kl_raw";
      const double got = kl ? all[3]
                            : all[std::string(name) == "total_variation" ? 0
                                  : std::string(name) == "chi_raw"       ? 2
                                                                         : 1];
      const std::size_t at = values.size() == distributions.size()
                                 ? index.get<std::size_t>()
                                 : static_cast<std::size_t>(&index - &applies.at(name)[0]);
      if (!near(got, values.at(at).get<double>(), kl ? kl_tolerance : 1e-12)) {
        found.push_back(std::string(name) + " of distribution " + index.dump() + ": got " + Json(got).dump());
      }
    }
  }
  const Json& one_hot = wanted.at("one_hot");
  for (const int k : {2, 10, 100}) {
    std::vector<double> values(static_cast<std::size_t>(k));
    values.front() = 1;
    const Imbalance of = imbalance(values);
    const double tolerance = one_hot.at("tolerance").get<double>();
    if (!near(of.kl_raw, std::log(k), tolerance) || !near(of.chi_raw, of.chi_most, tolerance)) {
      found.push_back("one-hot vector of " + std::to_string(k));
    }
  }
  wanted.finish();
  return found;
}

std::vector<std::string> check_miss_rate(const Json& input, const Json& expect) {
  Fields fields(input, "input");
  const MissRatioCurve curve(fields.reals("mrc_hist_counts"), fields.real("height"));
  Json rates = Json::array();
  for (const double factor : fields.reals("load_factors")) rates.push_back(curve.at_load_factor(factor));
  fields.finish();
  return differences(expect, {{"miss_rates_float32", rates}});
}

std::vector<std::string> check_miss_rate_list(const Json& input, const Json& expect) {
  Json got;
  Fields cases(input, "input");
  for (const auto& [name, json] : input.items()) {
    Fields fields(cases.at(name), name);
    const auto counts = fields.reals("hist");
    Json rates = Json::array();
    if (const Json* height = fields.given("height")) {
      const MissRatioCurve curve(counts, height->get<double>());
      for (const double factor : fields.reals("clf")) rates.push_back(curve.at_load_factor(factor));
    } else {
      const MissRatioCurve curve(counts, fields.at("bins").get<std::vector<float>>());
      for (const double rows : fields.reals("cache_rows")) rates.push_back(curve.at_rows(static_cast<float>(rows)));
    }
    fields.finish();
    got[name] = rates;
  }
  return differences(expect, got, 1e-6);  // single precision against the decimals of the unit test
}

std::vector<std::string> check_storage_hash(const Json& input, const Json& expect) {
  Fields fields(input, "input");
  const std::string text =
      storage_hash_text(fields.text("fqn"), parse_sharding_type(fields.text("sharding_type"), {"input"}),
                        parse_compute_kernel(fields.text("compute_kernel"), {"input"}),
                        maybe(fields.given("cache_load_factor")), static_cast<int>(fields.whole("num_shards")));
  fields.finish();
  return differences(expect, {{"hashed_text", text}, {"storage_hash", storage_hash(text)}});
}

std::vector<std::string> check_pipeline_io(const Json& input, const Json& expect) {
  Fields fields(input, "input");
  const std::int64_t in = fields.whole("input_bytes");
  const std::int64_t out = fields.whole("output_bytes");
  const std::int64_t resident = fields.whole("hbm_specific_bytes");
  const std::int64_t ddr = fields.whole("ddr_specific_bytes");
  if (fields.text("compute_device") != "cuda") throw std::runtime_error("only cuda is known here");
  fields.finish();
  std::vector<std::string> found;
  for (const Json& row : expect.at("cases")) {
    EstimateSettings settings;
    settings.pipeline = parse_pipeline(row.at("pipeline_type").get<std::string>(), {"expect"});
    settings.run_embedding_at_peak_memory = row.at("run_embedding_at_peak_memory").get<bool>();
    const Json got = {{"cached_table", resident + pipeline_bytes(settings, in, out, true, std::nullopt)},
                      {"uncached_table", resident + pipeline_bytes(settings, in, out, false, std::nullopt)},
                      {"cached_table_num_passes_10", resident + pipeline_bytes(settings, in, out, true, 10)}};
    append(found, differences({{"hbm", row.at("hbm")}, {"ddr", row.at("ddr")}}, {{"hbm", got}, {"ddr", ddr}}));
  }
  return found;
}

std::vector<std::string> check_storage_specific_sizes(const Json& input, const Json& expect) {
  Fields fields(input, "input");
  const std::int64_t storage = fields.whole("storage_bytes");
  const auto shape = fields.at("shape").get<std::vector<std::int64_t>>();
  const Json& shards = fields.at("shard_sizes");
  Json sizes = Json::array();
  for (const Json& item : fields.at("cases")) {
    Fields one(item, "case");
    const bool copies = one.text("sharding_type") == "data_parallel";
    const Optimizer optimizer = optimizer_of(one.text("optimizer"));
    const auto factor = maybe(one.given("cache_load_factor"));
    one.finish();
    Json row = Json::array();
    for (const Json& shard : shards) {
      Wide part = 1, whole = 1;
      for (const auto& size : shard) part *= static_cast<Wide>(size.get<std::int64_t>());
      for (const std::int64_t size : shape) whole *= static_cast<Wide>(size);
      const std::int64_t tensor = copies ? storage : tensor_bytes(storage, part, whole);
      const std::int64_t aux = factor ? cache_aux_bytes(shard[0].get<std::int64_t>(), *factor) : 0;
      row.push_back(tensor + optimizer_bytes(tensor, optimizer, shape.back()) + aux);
    }
    sizes.push_back(row);
  }
  fields.finish();
  return differences(expect, {{"sizes", sizes}});
}

}  // namespace shardsim::golden
