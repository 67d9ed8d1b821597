#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "base/files.h"
#include "models/workload/workload_parts.h"

namespace shardsim {
namespace {

constexpr double kMostFactorSigma = 5;           // as of log-normal lengths: beyond it no run meets the mean
constexpr std::int64_t kMostBag = 1'000'000;     // ids of a bag that follows from its first id
constexpr std::size_t kMostLengths = 1'000'000;  // of a histogram

void require_file(const Fields& map, const std::string& folder, const std::string& file, const Place& place) {
  if (!map.reading() || is_file(std::filesystem::path(folder) / file)) return;
  throw input_error(place, "there is no file " + excerpt(file), "Give a path relative to the workload file");
}

// One bag per sample is what a factor of the sample stretches.
bool has_several_bags(const Table& table) {
  return std::ranges::any_of(table.features, [](const Feature& feature) { return feature.num_poolings != 1; });
}

void family_keys(Fields& map, LengthSpec& spec, const std::string& folder) {
  const auto is = [&](std::string_view family) { return map.where(spec.family == family); };
  if (is("log_normal")) {
    map.usual("req").need_if(true, "sigma", spec.sigma, real_leaf(Bounds::above(0).to(kMostLengthSigma)),
                             "`log_normal`: the standard deviation of the logarithm");
    std::optional<std::int64_t> most;
    map.take("most", most, from_one_leaf(), "`log_normal`: the longest bag, above mu");
    spec.most = most.value_or(0);
  }
  if (is("negative_binomial"))
    map.usual("req").need_if(true, "size", spec.size, real_leaf(Bounds::from(kLeastLengthSize).to(kMostLengthSize)),
                             "`negative_binomial`: z, for a variance of mu + mu^2 / z");
  if (is("uniform_int")) {
    map.usual("req").need_if(true, "low", spec.low, count_leaf(), "`uniform_int`: the shortest bag");
    map.usual("req").need_if(true, "high", spec.high, count_leaf(), "`uniform_int`: the longest bag");
  }
  if (is("histogram")) {
    require(map, "lengths");
    map.usual("req").list("lengths", spec.lengths, Bounds::from(1).to(kMostLengths), "`histogram`: the lengths",
                          [](Fields& bin, LengthSpec::Bin& held) {
                            bin.need("length", held.length, count_leaf(), "ids of a bag");
                            bin.need("share", held.share, real_leaf(Bounds::from(0).to(1)), "of the bags");
                          });
  }
  if (is("file")) {
    require(map, "file");
    file_key(map, "file", spec.file, "`file`: the name of the file, which must exist");
    if (map.reading()) require_file(map, folder, spec.file, map.reader().place_of("file"));
  }
}

bool has_common_lengths(const Table& table) {
  return table.lengths.common;
}

}  // namespace

void length_keys(Fields& map, LengthSpec& spec, const std::string& folder, const Table& table) {
  map.choose("family", spec.family, length_families(), "see the table below");
  family_keys(map, spec, folder);
  map.take("common", spec.common, "samples that are long in one such table are long in all of them");
  if (!map.reading()) return;
  const Place& place = map.reader().tree().place;
  if (spec.common && has_several_bags(table))
    throw input_error(place, "lengths cannot be common if a feature has several bags per sample",
                      "Write common: false or num_poolings: 1");
  if (spec.family == "file") return;
  for (const Feature& feature : table.features) LengthLaw(spec, feature.pooling_factor, place);
}

void sample_factor_keys(Fields& map, Workload& workload) {
  const auto common = std::ranges::find_if(workload.tables, has_common_lengths);
  map.map("sample_factor", workload.sample_factor,
          "how much the lengths of a sample vary in all tables together, see [lengths of bags](#lengths-of-bags)",
          [](Fields& inside, SampleFactor& factor) {
            inside.need("sigma", factor.sigma, real_leaf(Bounds::above(0).to(kMostFactorSigma)),
                        "the standard deviation of the logarithm of a sample's factor");
          });
  map.refuse_if(workload.sample_factor && common == workload.tables.end(), "sample_factor",
                "sample_factor has no effect: no table has common lengths",
                "Write length_distribution.common: true in the tables whose lengths vary together");
  if (workload.sample_factor || common == workload.tables.end()) return;
  throw input_error(common->place,
                    fmt::format("table '{}' has common lengths, but the workload has no sample_factor", common->name),
                    "Write sample_factor: {sigma: ...} in the workload, or leave 'common' out");
}

void bag_ids_key(Fields& map, Table& table) {
  map.take("bag_ids", table.bag_ids,
           "with `first_id`, only the first id of a bag is drawn, and it determines the others: each first id has a "
           "fixed list, which is drawn uniformly once. `access` then describes the first ids. Requires a pooled table "
           "with one feature and a whole, fixed `pooling_factor` of at most 10^6");
  if (!map.reading() || table.bag_ids == BagIds::independent) return;
  const double size = table.features.front().pooling_factor;
  const bool whole = size == static_cast<double>(static_cast<std::int64_t>(std::min(size, 1e15)));
  const bool one = table.kind == TableKind::pooled && table.features.size() == 1 && table.lengths.family == "fixed";
  map.refuse_if(!one || !whole || size > static_cast<double>(kMostBag), "bag_ids",
                "the ids of a bag cannot follow from its first id in this table",
                fmt::format("bag_ids: first_id needs a pooled table with one feature, whose pooling_factor is whole, "
                            "fixed and at most {}",
                            kMostBag));
}

}  // namespace shardsim
