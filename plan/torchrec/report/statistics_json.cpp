#include <nlohmann/json.hpp>

#include "plan/torchrec/report/statistics.h"
#include "plan/torchrec/report/text.h"

namespace shardsim::torchrec {
namespace {

using Json = nlohmann::ordered_json;

double rounded_ms(double value) {
  return rounded(value, 3);
}

Json parts_json(const Perf& perf) {
  return {part(perf.fwd_compute), part(perf.fwd_comms), part(perf.bwd_compute), part(perf.bwd_comms),
          part(perf.prefetch_compute)};
}

Json storage_json(const Storage& storage) {
  return {{"hbm_gb", rounded_gigabytes(storage.hbm)}, {"ddr_gb", rounded_gigabytes(storage.ddr)}};
}

Json rank_json(const Statistics& statistics, std::size_t i) {
  const RankStatistics& rank = statistics.ranks[i];
  Json shards = Json::object();
  for (std::size_t t = 0; t < statistics.types.size(); ++t) {
    shards[statistics.types[t]] = rank.shards[t];
  }
  return {{"rank", i},
          {"hbm_gb", rounded_gigabytes(rank.used.hbm)},
          {"hbm_pct", percent(statistics.hbm_share(i))},
          {"ddr_gb", rounded_gigabytes(rank.used.ddr)},
          {"ddr_pct", percent(statistics.ddr_share(i))},
          {"perf_ms", rounded_ms(rank.perf.total())},
          {"perf_parts_ms", parts_json(rank.perf)},
          {"input_mb", rounded(rank.input_mb, 2)},
          {"output_mb", rounded(rank.output_mb, 2)},
          {"shards", shards}};
}

Json maybe(const std::optional<double>& value) {
  return value ? Json(*value) : Json(nullptr);
}

Json table_json(const TableStatistics& row, bool with_ssd) {
  const TableSpec& table = *row.table;
  const bool with_cache = row.option->kernel == ComputeKernel::fused_uvm_caching;
  const auto factor = row.option->load_factor ? row.option->load_factor : table.sharder_cache_load_factor;
  Json json = {{"fqn", table.fqn()},
               {"sharding", row.option->type_label()},
               {"compute_kernel", name_of(row.option->kernel)},
               {"perf_ms", rounded_ms(row.perf.total())},
               {"perf_parts_ms", parts_json(row.perf)},
               {"hbm_gb", rounded_gigabytes(row.option->total.hbm)},
               {"ddr_gb", rounded_gigabytes(row.option->total.ddr)},
               {"cache_load_factor", with_cache ? maybe(factor) : Json(nullptr)},
               {"sum_pooling_factor", rounded(row.pooling, 3)},
               {"sum_num_poolings", row.poolings},
               {"num_indices", rounded(row.indices, 3)},
               {"output", table.pooled ? "pooled" : "sequence"},
               {"weighted", table.weighted ? "weighted" : "unweighted"},
               {"sharder", table.pooled ? "EmbeddingBagCollectionSharder" : "EmbeddingCollectionSharder"},
               {"features", table.pooling_factors.size()},
               {"emb_dim", table.dim},
               {"cw_dim", row.column_width ? Json(*row.column_width) : Json(nullptr)},
               {"hash_size", table.rows},
               {"ranks", row.ranks.empty() ? Json(nullptr) : Json(rank_text(row.ranks))}};
  if (with_ssd) json["ssd_gb"] = rounded_gigabytes(row.option->total.ssd);
  if (const auto& tier = row.option->tier) json["tier_rows"] = {tier->begin, tier->end};
  return json;
}

// Returns what version 2026-08 prints of the kernels: weights, optimizer state, all estimated memory.
Json kernel_json(const std::string& name, const KernelStatistics& kernel, bool newest) {
  Json row = {{"kernel", name}, {"count", kernel.count}};
  row.update(storage_json(kernel.storage));
  if (!newest) return row;
  row["ssd_gb"] = rounded_gigabytes(kernel.storage.ssd);
  row["weights_gb"] = rounded_gigabytes(kernel.weights);
  row["optimizer_gb"] = rounded_gigabytes(kernel.optimizer_state);
  return row;
}

Json kernel_constraints_json(const Statistics& statistics) {
  int hardcoded = 0, count = 0;
  Json by_kernel = Json::object();
  for (const auto& [name, kernel] : statistics.kernels) {
    hardcoded += kernel.hardcoded;
    count += kernel.count;
    if (kernel.hardcoded > 0) by_kernel[name] = kernel.hardcoded;
  }
  return {{"hardcoded", hardcoded}, {"auto_selected", count - hardcoded}, {"hardcoded_by_kernel", by_kernel}};
}

void add_imbalance(Json& json, const char* name, const std::optional<Imbalance>& of) {
  if (!of) return;
  json[name] = {{"total_variation", rounded(of->total_variation, 3)},
                {"total_distance", rounded(of->total_distance, 3)},
                {"chi_divergence", rounded(of->chi(), 3)},
                {"kl_divergence", rounded(of->kl(), 3)}};
}

Json imbalance_json(const Statistics& statistics) {
  Json json = Json::object();
  add_imbalance(json, "perf", statistics.perf_imbalance);
  add_imbalance(json, "hbm", statistics.hbm_imbalance);
  add_imbalance(json, "ddr", statistics.ddr_imbalance);
  return json;
}

Json maximum_json(const Spot& maximum) {
  return {{"ms", rounded_ms(maximum.value)}, {"ranks", rank_text(maximum.ranks)}};
}

double over_mean_pct(double most, double mean) {
  return mean > 0 ? significant((most - mean) / mean * 100, 3) : 0;
}

Json maxima_json(const Statistics& statistics) {
  Json json = {{"total", maximum_json(statistics.total)},
               {"mean_total_ms", rounded_ms(statistics.mean_total)},
               {"max_over_mean_pct", over_mean_pct(statistics.total.value, statistics.mean_total)}};
  for (const Spot& part : statistics.maxima) json[part.key] = maximum_json(part);
  json["sum_of_maxima_ms"] = rounded_ms(statistics.sum_of_maxima());
  return json;
}

Json distribution_json(const Statistics& statistics) {
  Json json;
  for (const Spot& spot : statistics.hbm) {
    json[spot.key] = {{"gb", rounded_gigabytes(spot.value)}, {"ranks", spot.ranks}};
  }
  json["critical_path_comms_ms"] = rounded_ms(statistics.critical_comms);
  json["critical_path_compute_ms"] = rounded_ms(statistics.critical_compute);
  json["critical_path_ms"] = rounded_ms(statistics.critical_comms + statistics.critical_compute);
  json["max_hbm_over_mean_pct"] = over_mean_pct(statistics.hbm_most, statistics.hbm_mean);
  return json;
}

// The fullest comes last, as printed.
Json tiers_json(const Statistics& statistics) {
  Json tiers = Json::array();
  for (std::size_t i = statistics.tiers.size(); i-- > 0;) {
    const Tier& tier = statistics.tiers[i];
    tiers.push_back({{"tier", i + 1},
                     {"gb", rounded_gigabytes(tier.bytes)},
                     {"positions", rank_text(tier.positions)},
                     {"ranks", rank_text(tier.ranks)}});
  }
  return tiers;
}

void add_plan_parts(Json& json, const Statistics& statistics) {
  const RunResult& run = *statistics.run;
  json["maxima"] = maxima_json(statistics);
  json["distribution"] = distribution_json(statistics);
  json["top_hbm_gb"] = rounded_gigabytes(statistics.hbm_most);
  json["hbm_tiers"] = tiers_json(statistics);
  json["top_perf_tables"] = json["top_hbm_tables"] = Json::array();
  for (const std::size_t i : statistics.top_perf) {
    json["top_perf_tables"].push_back(run.space.table_of(run.plan[i]).name);
  }
  for (const std::size_t i : statistics.top_hbm) {
    const auto ranks = run.assignment.of(i);
    json["top_hbm_tables"].push_back({{"name", run.space.table_of(run.plan[i]).name},
                                      {"gb", rounded_gigabytes(run.plan[i].runs.front().storage.hbm)},
                                      {"ranks", std::vector<int>(ranks.begin(), ranks.end())}});
  }
}

Json statistics_tree(const Statistics& statistics) {
  const RunResult& run = *statistics.run;
  const RunSettings& settings = *statistics.settings;
  const bool placed = !statistics.ranks.empty();
  Json ranks = Json::array(), tables = Json::array(), kernels = Json::array();
  for (std::size_t i = 0; i < statistics.ranks.size(); ++i) ranks.push_back(rank_json(statistics, i));
  for (const TableStatistics& row : statistics.tables) tables.push_back(table_json(row, statistics.newest()));
  for (const auto& [name, kernel] : statistics.kernels) {
    kernels.push_back(kernel_json(name, kernel, statistics.newest()));
  }
  const double share = statistics.share_reserved();
  Json json;
  json["proposals_evaluated"] = run.num_proposals;
  json["plans_found"] = run.num_plans;
  json["proposals_untried"] = run.num_untried;
  json["ranks"] = placed ? ranks : Json(nullptr);
  json["tables"] = tables;
  json["batch_size"] = settings.estimate.batch_size;
  json["world_size"] = placed ? Json(nullptr) : Json(settings.topology.world_size);
  json["kernels"] = kernels;
  if (statistics.newest()) json["kernel_constraints"] = kernel_constraints_json(statistics);
  json["imbalance"] = placed ? imbalance_json(statistics) : Json(nullptr);
  json["top_perf_tables"] = json["top_hbm_tables"] = nullptr;
  if (placed) add_plan_parts(json, statistics);
  json["reserved"] = {{"hbm_gb", rounded_gigabytes(statistics.reserved().hbm)}, {"pct", percent(share)}};
  json["planning"] = storage_json(statistics.usable());
  json["planning"]["pct"] = percent(1 - share);
  json["dense"] = run.reservation.itemised ? storage_json(run.reservation.dense) : Json(nullptr);
  json["kjt"] = run.reservation.itemised ? storage_json(run.reservation.kjt) : Json(nullptr);
  return json;
}

Json bytes_json(const Storage& storage) {
  return {{"hbm", storage.hbm}, {"ddr", storage.ddr}};
}

Json shard_json(const ShardExplanation& shard) {
  const ShardStorage& storage = shard.storage;
  return {{"shards", shard.ranks.size()},
          {"ranks", shard.ranks},
          {"rows", shard.rows},
          {"cols", shard.cols},
          {"tensor_bytes", bytes_json(storage.tensor)},
          {"optimizer_bytes", bytes_json(storage.optimizer)},
          {"cache_bytes", storage.first_level_cache.value_or(storage.cache_aux)},
          {"input_bytes", storage.input},
          {"output_bytes", storage.output},
          {"pipeline_bytes", bytes_json(storage.buffers)},
          {"ssd_bytes", storage.ssd},
          {"total_bytes", bytes_json(storage.total())}};
}

}  // namespace

std::string statistics_json(const Statistics& statistics) {
  return statistics_tree(statistics).dump();
}

std::string explanation_json(const Statistics& statistics) {
  Json list = Json::array();
  for (const TableStatistics& table : statistics.tables) {
    Json shards = Json::array();
    for (const ShardExplanation& shard : table.shards) shards.push_back(shard_json(shard));
    list.push_back({{"fqn", table.table->fqn()},
                    {"sharding_type", table.option->type_name()},
                    {"compute_kernel", name_of(table.option->kernel)},
                    {"shards", shards}});
    if (const auto& tier = table.option->tier) list.back()["tier_rows"] = {tier->begin, tier->end};
  }
  return list.dump();
}

}  // namespace shardsim::torchrec
