#include "tests/models/load/cases/case.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>

#include "base/tree/json.h"

namespace shardsim::golden {

Json stated(const Json& expected) {
  Json kept = Json::object();
  for (const auto& [key, value] : expected.items()) {
    if (!value.is_null()) kept[key] = value;
  }
  return kept;
}

Json only(const Json& expected, const std::vector<std::string>& keys) {
  Json kept = Json::object();
  for (const std::string& key : keys) {
    if (expected.contains(key)) kept[key] = expected.at(key);
  }
  return kept;
}

Json without(const Json& expected, const std::vector<std::string>& keys) {
  Json kept = expected;
  for (const std::string& key : keys) kept.erase(key);
  return kept;
}

double tolerance_of(const LoadCase& item, const std::string& key) {
  if (!item.tolerance.is_object() || !item.tolerance.contains(key))
    throw std::runtime_error("the case states no tolerance " + key);
  return item.tolerance.at(key).get<double>();
}

void append(Differences& all, const Differences& more) {
  all.insert(all.end(), more.begin(), more.end());
}

Differences apart(const std::string& what, double wanted, double got, double most) {
  if (std::abs(got - wanted) <= most) return {};
  return {fmt::format("{}: expected {} within {:.3g}, got {}", what, wanted, most, got)};
}

RowOrder order_named(const std::string& name) {
  if (name == "popularity") return RowOrder::popularity;
  if (name == "random" || name == "hashed") return RowOrder::random;
  throw std::runtime_error("unknown row_order " + name);
}

RowCut cut_named(const std::string& name) {
  for (const RowCut cut : {RowCut::hashed, RowCut::blocks, RowCut::modulo}) {
    if (name_of(cut) == name) return cut;
  }
  throw std::runtime_error("unknown row_cut " + name);
}

// Only shares matter: laws that do not say their sum have the sum 1.
AccessDistribution case_access(const Json& access, std::uint64_t rows) {
  const Tree tree = parse_json(access.dump(), "access");
  const AccessSpec spec = read_access(MapReader(tree, "access"), rows, ".");
  return {spec, rows, spec.absolute() && !spec.rescale ? 0.0 : 1.0};
}

CaseTable case_table(Fields& input) {
  const auto rows = static_cast<std::uint64_t>(input.whole("rows"));
  CaseTable table{case_access(input.at("access"), rows)};
  const Json *first = input.given("first"), *end = input.given("end"), *tier = input.given("tier");
  const Json *name = input.given("table"), *seed = input.given("seed");
  table.first = first ? first->get<std::uint64_t>() : 0;
  table.end = end ? end->get<std::uint64_t>() : rows;
  table.owners = static_cast<int>(input.whole("owners"));
  table.order = order_named(input.text("row_order"));
  table.cut = cut_named(input.text("row_cut"));
  if (name) table.hash.table = name->get<std::string>();
  if (seed) table.hash.seed = seed->get<std::uint64_t>();
  if (tier) table.hash.tier = tier->get<int>();
  return table;
}

std::vector<std::uint64_t> seeds_of(const std::string& range, double each) {
  constexpr double kWork = 3e6;  // rows to place in one case
  const std::size_t dots = range.find("..");
  if (dots == std::string::npos) throw std::runtime_error("unknown seeds " + range);
  const std::uint64_t first = std::stoull(range.substr(0, dots)), last = std::stoull(range.substr(dots + 2));
  if (last < first) throw std::runtime_error("no seeds in " + range);
  const auto most = static_cast<std::uint64_t>(std::max(8.0, kWork / std::max(1.0, each)));
  std::vector<std::uint64_t> seeds(std::min(last - first + 1, most));
  std::iota(seeds.begin(), seeds.end(), first);
  return seeds;
}

LengthSpec case_lengths(Fields& input, const std::string& family) {
  LengthSpec spec;
  spec.family = family;
  const auto real = [&](const char* key) {
    const Json* value = input.given(key);
    return value ? value->get<double>() : 0.0;
  };
  spec.size = real("size");
  spec.sigma = real("sigma");
  spec.most = static_cast<std::int64_t>(real("most"));
  spec.low = static_cast<std::int64_t>(real("low"));
  spec.high = static_cast<std::int64_t>(real("high"));
  const std::vector<double> lengths = input.reals("lengths"), shares = input.reals("shares");
  if (lengths.size() != shares.size()) throw std::runtime_error("as many shares as lengths are due");
  for (std::size_t i = 0; i < lengths.size(); ++i)
    spec.lengths.push_back({static_cast<std::int64_t>(lengths[i]), shares[i]});
  return spec;
}

double Sample::mean() const {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double Sample::spread() const {
  const double middle = mean();
  double squares = 0;
  for (const double value : values) squares += (value - middle) * (value - middle);
  return std::sqrt(squares / static_cast<double>(values.size() - 1));
}

double Sample::mean_error() const {
  return spread() / std::sqrt(static_cast<double>(values.size()));
}

double Sample::spread_error() const {
  const double middle = mean(), variance = spread() * spread();
  double fourth = 0;
  for (const double value : values) fourth += std::pow(value - middle, 4);
  fourth /= static_cast<double>(values.size());
  const double of_variance =
      std::sqrt(std::max(0.0, fourth - variance * variance) / static_cast<double>(values.size()));
  return variance > 0 ? of_variance / (2 * spread()) : 0;
}

Sample Sample::largest_of(std::size_t group) const {
  if (group == 0 || group > values.size()) throw std::runtime_error("no such group of ranks can be drawn");
  Sample largest;
  for (std::size_t first = 0; first + group <= values.size(); first += group) {
    const auto begin = values.begin() + static_cast<std::ptrdiff_t>(first);
    largest.values.push_back(*std::max_element(begin, begin + static_cast<std::ptrdiff_t>(group)));
  }
  return largest;
}

std::vector<std::string> names_between(const Json& ends, std::size_t count) {
  const auto first = ends.at(0).get<std::string>(), last = ends.at(1).get<std::string>();
  const std::string stem = first.substr(0, first.find_last_not_of("0123456789") + 1);
  const std::uint64_t start = std::stoull(first.substr(stem.size()));
  std::vector<std::string> names;
  for (std::size_t i = 0; i < count; ++i) names.push_back(stem + std::to_string(start + i));
  if (names.empty() || names.back() != last) throw std::runtime_error("tables and count do not agree");
  return names;
}

}  // namespace shardsim::golden
