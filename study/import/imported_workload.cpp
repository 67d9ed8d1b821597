#include "study/import/imported_workload.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/text.h"
#include "base/tree/tree_builder.h"
#include "base/tree/yaml_text.h"

namespace shardsim {
namespace {

// Facts that very many features have in common are said once, for the file has to be read, too.
bool shares_factor(const Table& table) {
  constexpr std::size_t kMany = 1000;
  const double factor = table.features.front().pooling_factor;
  return table.features.size() > kMany && std::ranges::all_of(table.features, [&](const Feature& feature) {
           return feature.pooling_factor == factor && feature.num_poolings == 1 && !feature.weighted && !feature.batch;
         });
}

std::string imported_features(const Table& table) {
  const bool pooled = table.kind == TableKind::pooled && !shares_factor(table);
  std::vector<std::string> texts;
  for (const Feature& feature : table.features) {
    std::string text = "name: " + in_yaml_quotes(feature.name);
    if (pooled) text += ", pooling_factor: " + shortest(feature.pooling_factor);
    if (feature.num_poolings != 1) text += ", num_poolings: " + shortest(feature.num_poolings);
    if (feature.weighted) text += ", weighted: true";
    if (feature.batch) text += fmt::format(", batch: {}", *feature.batch);
    texts.push_back(pooled ? "{" + text + "}" : in_yaml_quotes(feature.name));
  }
  return join(texts);
}

bool is_plain_feature(const Table& table) {
  const Feature& first = table.features.front();
  return table.features.size() == 1 && first.name == table.name && !first.weighted && first.num_poolings == 1 &&
         !first.batch;
}

std::string imported_map(const Table& table) {
  const bool pooled = table.kind == TableKind::pooled;
  std::string text = fmt::format("  - {{name: {}, rows: {}, dim: {}, dtype: {}, kind: {}", in_yaml_quotes(table.name),
                                 table.rows, table.dim, dtype_name(table.dtype), pooled ? "pooled" : "sequence");
  if (pooled && table.pooling != "sum") text += ", pooling: " + table.pooling;
  if (!pooled) text += ", average_length: " + shortest(table.average_length);
  if (pooled && (is_plain_feature(table) || shares_factor(table)))
    text += ", pooling_factor: " + shortest(table.features.front().pooling_factor);
  if (!is_plain_feature(table)) text += ", features: [" + imported_features(table) + "]";
  if (!table.module.empty()) text += ", module: " + in_yaml_quotes(table.module);
  if (table.wire_forward && table.wire_forward->dtype) {
    const std::string type = dtype_name(*table.wire_forward->dtype);
    text += fmt::format(", wire_dtype: {{forward: {0}, backward: {0}}}", type);
  }
  if (!table.sharded) text += ", sharded: false";
  if (table.access.family == "zipf") text += ", access: {family: zipf, s: " + shortest(table.access.s) + "}";
  return text + "}";
}

// Values of the map in a file, keys counted too.
std::size_t values_of(const Table& table, const std::string& map) {
  std::size_t keys = 0;
  for (std::size_t at = map.find(": "); at != std::string::npos; at = map.find(": ", at + 1)) ++keys;
  return 1 + 2 * keys + (is_plain_feature(table) ? 0 : table.features.size());
}

// One line for each table. Errors: they are more than a workload file may hold, at the first that is too many.
std::string imported_lines(const ImportedModel& model) {
  constexpr std::size_t kOthers = 100;  // values that are no table's
  constexpr std::size_t kMost = TreeLimits{}.values - kOthers;
  std::string text;
  std::size_t values = 0;
  for (std::size_t i = 0; i < model.tables.size(); ++i) {
    const ImportedTable& imported = model.tables[i];
    const std::string map = imported_map(imported.table);
    values += values_of(imported.table, map);
    if (values > kMost) {
      throw input_error(imported.table.place,
                        fmt::format("with table {}, '{}', a workload file would hold over {} values, more than is read",
                                    i + 1, imported.table.name, with_thousands(TreeLimits{}.values)),
                        i > 0 ? fmt::format("Import at most {} of these tables", i) : "Import fewer of its features");
    }
    text += map + (imported.known_as.empty() ? "" : "  # there called " + excerpt(imported.known_as)) + "\n";
  }
  return text;
}

// In a module where a feature has a batch of its own, every feature has one. Errors: one has more than a rank.
ImportedModel with_batches(ImportedModel model, const ImportSetting& setting) {
  std::set<std::string> modules;
  for (const ImportedTable& each : model.tables)
    for (const Feature& feature : each.table.features) {
      if (!feature.batch) continue;
      modules.insert(each.table.module);
      if (*feature.batch > setting.batch_per_gpu)
        throw input_error(each.table.place,
                          fmt::format("feature '{}' of table '{}' has a batch of {}, and a rank has {} samples",
                                      feature.name, each.table.name, *feature.batch, setting.batch_per_gpu),
                          "Give the samples of a rank with --batch, or smaller batch_sizes");
    }
  for (ImportedTable& each : model.tables) {
    if (each.table.kind != TableKind::pooled || !modules.contains(each.table.module)) continue;
    for (Feature& feature : each.table.features)
      if (!feature.batch) feature.batch = setting.batch_per_gpu;
  }
  return model;
}

}  // namespace

std::string imported_workload(const ImportedModel& model, const ImportSetting& setting) {
  std::string text = fmt::format("name: imported\nbatch_per_gpu: {}\n", setting.batch_per_gpu);
  text += "# optimizer: {name: rowwise_adagrad}   # the default; sgd, adagrad, adam, lamb\n";
  text += model.pipeline.empty()
              ? "# pipeline: sparse_dist                # TorchRec's TrainPipelineSparseDist; the default is none\n"
              : "pipeline: " + model.pipeline + "\n";
  if (!model.cache_policy.empty()) text += "cache_policy: " + model.cache_policy + "\n";
  text += !setting.dense.empty() ? setting.dense
                                 : "# dense: {precision: fp32, layers: [{name: bottom_0, in: 13, out: 512}, {name: "
                                   "top_0, in: 4096, out: 1024}]}\n";
  return text + "tables:\n" + imported_lines(with_batches(model, setting));
}

}  // namespace shardsim
