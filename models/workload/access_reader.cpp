#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "models/access/access_counts.h"
#include "models/access/access_distribution.h"
#include "models/access/families/family.h"
#include "models/workload/model_name.h"
#include "models/workload/workload_parts.h"

namespace shardsim {
namespace {

constexpr std::size_t kMostListed = 1'000'000;  // of family `explicit`
constexpr double kWholeTolerance = 1e-6;        // of fraction x rows

void knot_keys(Fields& map, AccessSpec::Knot& knot, std::uint64_t rows) {
  std::optional<std::int64_t> rank;
  std::optional<double> fraction;
  map.take("rank", rank, from_one_leaf(), "the row by popularity, from 1");
  map.take("fraction", fraction, real_leaf(Bounds::above(0).to(1)),
           "or its share of the rows. Their product must be whole within 1e-6");
  map.exactly_one_of({"rank", "fraction"}, "a knot needs 'rank' or 'fraction'");
  const double exact = rank ? static_cast<double>(*rank) : fraction.value_or(0) * static_cast<double>(rows);
  map.refuse_if(!(std::abs(exact - std::round(exact)) <= kWholeTolerance), "fraction",
                fmt::format("fraction x rows is {}, not a whole rank", exact), "Correct the fraction or give 'rank'");
  knot.rank = std::round(exact);
  map.need("ln_p", knot.ln_p, real_leaf(), "ln p there");
}

// Rows that come by id, where ids are said to be in order of popularity: the first one that is hotter than the one
// before it contradicts that.
void check_hottest_first(const std::vector<double>& p, const Place& place) {
  const auto rise = std::ranges::adjacent_find(p, std::ranges::less{});
  if (rise == p.end()) return;
  throw input_error(place,
                    fmt::format("row_order: popularity means that rows are sorted by falling popularity, but row {} "
                                "has more accesses than row {}",
                                rise - p.begin() + 1, rise - p.begin()),
                    "Sort the rows from the largest down, or leave out row_order");
}

LeafReader<double> probability_leaf() {
  return real_leaf(Bounds::from(0), "an access probability cannot be negative");
}

std::vector<double> read_listed(MapReader& reader, bool hottest_first) {
  const LeafReader<double> probability = probability_leaf();
  std::vector<double> p;
  for (const Tree& item : reader.list("p", Bounds::from(0).to(kMostListed))) p.push_back(probability(item));
  if (hottest_first) check_hottest_first(p, reader.place_of("p"));
  std::ranges::sort(p, std::ranges::greater{});
  return p;
}

void listed_key(Fields& map, AccessSpec& spec, bool hottest_first) {
  require(map, "p");
  map.custom("p", list_shape(leaf_shape(probability_leaf()), Bounds::from(0).to(kMostListed)),
             "`explicit`: p of every row, sorted");
  if (map.reading()) spec.p = read_listed(map.reader(), hottest_first);
}

std::vector<AccessSpec::Step> read_steps(MapReader& reader) {
  std::vector<AccessSpec::Step> steps;
  for (const Tree& item : reader.list("rows", Bounds::from(1)))
    steps.push_back({static_cast<std::uint64_t>(from_one_leaf()(item)), 0});
  const std::vector<Tree>& weights = reader.list("weights");
  if (weights.size() != steps.size())
    throw input_error(reader.place_of("weights"), fmt::format("{} weights of {} steps", weights.size(), steps.size()),
                      "Give one weight per step");
  for (std::size_t i = 0; i < steps.size(); ++i) steps[i].weight = real_leaf(Bounds::from(0))(weights[i]);
  return steps;
}

void step_keys(Fields& map, AccessSpec& spec) {
  map.custom("rows", list_shape(leaf_shape(from_one_leaf()), Bounds::from(1)), "`steps`: how many rows each step has");
  map.custom("weights", list_shape(leaf_shape(real_leaf(Bounds::from(0)))),
             "`steps`: the weight of each row of a step; must not rise");
  if (map.reading()) spec.steps = read_steps(map.reader());
}

void count_keys(Fields& map, AccessSpec& spec, const AccessOf& of) {
  require(map, "file");
  file_key(map, "file", spec.file, "`counts`: a file of access counts");
  map.need_if(true, "table", spec.table, model_name_leaf(), "`counts`: the name of the table in that file");
  if (!map.reading()) return;
  spec.p = read_access_counts(std::filesystem::path(of.folder) / spec.file, spec.table, of.rows);
  if (of.hottest_first) check_hottest_first(spec.p, map.reader().place_of("file"));
  std::ranges::sort(spec.p, std::ranges::greater{});
}

std::vector<std::string> family_names() {
  std::vector<std::string> names;
  for (const FamilyEntry& entry : access_families()) names.emplace_back(entry.name);
  return names;
}

}  // namespace

void access_keys(Fields& map, AccessSpec& spec, const AccessOf& of) {
  const auto is = [&](std::string_view family) { return map.where(spec.family == family); };
  map.choose("family", spec.family, family_names(), "the law, see below");
  if (is("zipf_mandelbrot"))
    map.usual("req").need_if(true, "q", spec.q, real_leaf(Bounds::from(0)), "`zipf_mandelbrot`: added to each rank");
  if (is("zipf") || is("zipf_mandelbrot"))
    map.usual("req").need_if(true, "s", spec.s, real_leaf(Bounds::from(0)), "`zipf`, `zipf_mandelbrot`: the exponent");
  if (is("zipf_mandelbrot")) {
    std::optional<double> c;
    map.take("c", c, real_leaf(Bounds::above(0), "leave c out to scale to the average length"),
             "`zipf_mandelbrot`: the factor of p; without it p is scaled to L");
    spec.c = c.value_or(0);
  }
  if (is("piecewise_power_law")) {
    require(map, "knots");
    map.usual("req").list("knots", spec.knots, Bounds::from(1), "`piecewise_power_law`: where p is known",
                          [&](Fields& knot, AccessSpec::Knot& held) { knot_keys(knot, held, of.rows); });
  }
  if (is("log_normal"))
    map.usual("req").need_if(true, "sigma", spec.sigma, real_leaf(Bounds::above(0).to(kMostAccessSigma)),
                             "`log_normal`: the standard deviation of ln p");
  if (is("explicit")) listed_key(map, spec, of.hottest_first);
  if (is("steps")) step_keys(map, spec);
  if (is("counts")) count_keys(map, spec, of);
  if (map.where(spec.absolute()))
    map.take("rescale", spec.rescale, "absolute laws: scale them to L where their sum is another");
}

AccessSpec read_access(MapReader reader, std::uint64_t rows, const std::string& folder, bool hottest_first) {
  AccessSpec spec;
  Fields map(reader);
  access_keys(map, spec, {rows, folder, hottest_first});
  reader.finish();
  return spec;
}

}  // namespace shardsim
