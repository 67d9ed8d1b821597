#include "models/workload/table_fields.h"

#include <fmt/core.h>

#include <cmath>

namespace shardsim {
namespace {

// One plain feature named after the table.
std::vector<Feature> default_features(const Table& table) {
  return {Feature{.name = table.name}};
}

void above_zero(auto& map, std::string_view key, double& value) {
  map.take(key, value, true, 1.0);
  if (value <= 0)
    throw input_error(map.place_of(key), fmt::format("'{}' is {}", key, value), "Write a number above 0.");
}

// One of two words, the second of which may be left out.
void pooling_field(auto& map, std::string& pooling) {
  map.take("pooling", pooling, false, std::string("sum"));
  if (pooling == "mean" || pooling == "sum") return;
  throw input_error(map.place_of("pooling"), fmt::format("unknown pooling {}", excerpt(pooling)), "Write mean or sum.");
}

// 0 in a file would be none.
void own_batch(auto& map, Feature& feature) {
  std::int64_t batch = feature.batch.value_or(0);
  map.take("batch", batch);
  if (batch < 0) throw input_error(map.place_of("batch"), "'batch' is below 0", "Write the samples of the feature.");
  feature.batch = batch > 0 ? std::optional(batch) : std::nullopt;
}

void feature_fields(auto& map, Table& table) {
  const std::vector<Feature> plain = default_features(table);
  if (!map.there("features", table.features != plain)) {
    table.features = plain;
    return;
  }
  map.list("features", table.features, [](auto& inner, Feature& feature) {
    inner.field("name", feature.name);
    above_zero(inner, "pooling_factor", feature.pooling_factor);
    above_zero(inner, "num_poolings", feature.num_poolings);
    inner.take("weighted", feature.weighted, true);
    inner.take("weight_gradient", feature.weight_gradient, false, true);
    own_batch(inner, feature);
  });
}

void length_fields(auto& map, Table& table) {
  if (!map.there("length_distribution", table.lengths != LengthSpec{})) return;
  map.group("length_distribution", [&](auto& inner) {
    LengthSpec& lengths = table.lengths;
    inner.field("family", lengths.family);
    inner.take("size", lengths.size);
    inner.take("sigma", lengths.sigma);
    inner.take("most", lengths.most);
    const bool between = lengths.family == "uniform_int";  // of which both ends are required, 0 too
    inner.take("low", lengths.low, between);
    inner.take("high", lengths.high, between);
    inner.list(
        "lengths", lengths.lengths,
        [](auto& entry, auto& bin) {
          entry.field("length", bin.length);
          entry.field("share", bin.share);
        },
        false);
    inner.take("file", lengths.file);
    inner.take("common", lengths.common);
  });
}

void dedup_field(auto& map, Table& table) {
  map.take("sharded", table.sharded, false, true);
  map.take("index_dedup", table.index_dedup);
  if (!table.index_dedup || table.kind == TableKind::sequence) return;
  throw input_error(map.place_of("index_dedup"), "only sequence tables have 'index_dedup'", "Leave it out.");
}

void write_steps(JsonWriter& map, const std::vector<AccessSpec::Step>& steps) {
  std::vector<std::uint64_t> rows;
  std::vector<double> weights;
  for (const AccessSpec::Step& step : steps) {
    rows.push_back(step.rows);
    weights.push_back(step.weight);
  }
  map.field("rows", rows);
  map.field("weights", weights);
}

void write_access(JsonWriter& map, const AccessSpec& spec) {
  map.field("family", spec.family);
  if (spec.family == "zipf") map.field("s", spec.s);
  if (spec.family == "zipf_mandelbrot") {
    map.field("q", spec.q);
    map.field("s", spec.s);
    map.take("c", spec.c);
  }
  if (spec.family == "log_normal") map.field("sigma", spec.sigma);
  if (spec.family == "explicit") map.field("p", spec.p);
  if (spec.family == "steps") write_steps(map, spec.steps);
  if (spec.family == "counts") {
    map.field("file", spec.file);
    map.field("table", spec.table);
  }
  if (spec.family == "piecewise_power_law") {
    map.list("knots", spec.knots, [](auto& inner, const AccessSpec::Knot& knot) {
      set_amount(inner.slot("rank"), knot.rank);
      inner.field("ln_p", knot.ln_p);
    });
  }
  map.take("rescale", spec.rescale);
}

void read_access_of(JsonReader& map, Table& table) {
  map.must_have("access");
  table.access = read_access(map.reader().map("access"), table.rows, "");
}
void read_access_of(JsonWriter&, Table&) {}

void write_access_of(JsonWriter& map, const Table& table) {
  map.group("access", [&](JsonWriter& inner) { write_access(inner, table.access); });
}
void write_access_of(JsonReader&, const Table&) {}

void law_fields(auto& map, Table& table) {
  map.field("kind", table.kind);
  pooling_field(map, table.pooling);
  read_access_of(map, table);
  feature_fields(map, table);
  map.take("average_length", table.average_length, false, stated_length(table));
  length_fields(map, table);
  map.take("row_order", table.row_order);
  map.take("bag_ids", table.bag_ids);
  dedup_field(map, table);
  write_access_of(map, table);
  map.group_if("runtime", table.runtime, [](auto& inner, auto& observed) {
    inner.field("average_length", observed.average_length);
    inner.list("shares", observed.shares, [](auto& entry, auto& share) {
      entry.field("rows", share.rows);
      entry.field("share", share.share);
    });
    inner.field("source", observed.source);
  });
}

}  // namespace

std::vector<std::string> words_of(TableKind) {
  return {"sequence", "pooled"};
}
std::vector<std::string> words_of(RowOrder) {
  return {"random", "popularity"};
}
std::vector<std::string> words_of(BagIds) {
  return {"independent", "first_id"};
}
std::vector<std::string> words_of(Dtype) {
  return {dtype_name(Dtype::fp32), dtype_name(Dtype::fp16), dtype_name(Dtype::bf16), dtype_name(Dtype::int8)};
}
double stated_length(const Table& table) {
  if (table.kind == TableKind::pooled) {
    double length = 0;
    for (const Feature& feature : table.features) length += feature.ids();
    return length;
  }
  return table.access.absolute() ? AccessDistribution(table.access, table.rows, 0, table.place).total() : 0;
}

void set_amount(JsonSlot to, double amount) {
  constexpr double kWhole = 9007199254740992.0;
  amount == std::floor(amount) && amount < kWhole ? to.set(static_cast<std::int64_t>(amount)) : to.set(amount);
}

void table_law_fields(JsonWriter& map, Table& table) {
  law_fields(map, table);
}

void table_law_fields(JsonReader& map, Table& table) {
  law_fields(map, table);
  table.distribution();  // refuses probabilities that are no distribution
  if (table.lengths.family == "file") return;
  for (const Feature& feature : table.features) table.length_law(feature);  // refuses lengths that it cannot have
}

}  // namespace shardsim
