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
#include "models/workload/workload_parts.h"

namespace shardsim {
namespace {

constexpr std::size_t kMostListed = 1'000'000;  // of family `explicit`
constexpr double kWholeTolerance = 1e-6;        // of fraction x rows

double knot_rank(MapReader& reader, std::uint64_t rows) {
  const bool by_rank = reader.has("rank"), by_fraction = reader.has("fraction");
  if (by_rank == by_fraction)
    throw input_error(reader.tree().place, "a knot needs 'rank' or 'fraction'", "Give exactly one of the two");
  if (by_rank) return static_cast<double>(reader.count("rank"));
  const double exact = reader.real("fraction", Bounds::above(0).to(1)) * static_cast<double>(rows);
  if (!(std::abs(exact - std::round(exact)) <= kWholeTolerance))
    throw input_error(reader.place_of("fraction"), fmt::format("fraction x rows is {}, not a whole rank", exact),
                      "Correct the fraction or give 'rank'");
  return std::round(exact);
}

std::vector<AccessSpec::Knot> read_knots(MapReader& reader, std::uint64_t rows) {
  std::vector<AccessSpec::Knot> knots;
  for (const Tree& item : reader.list("knots", Bounds::from(1))) {
    MapReader knot(item, fmt::format("{}.knots.{}", reader.path(), knots.size()));
    const double rank = knot_rank(knot, rows);
    knots.push_back({rank, knot.real("ln_p")});
    knot.finish();
  }
  return knots;
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

std::vector<double> read_listed(MapReader& reader, bool hottest_first) {
  const LeafReader<double> probability = real_leaf(Bounds::from(0), "an access probability cannot be negative");
  std::vector<double> p;
  for (const Tree& item : reader.list("p", Bounds::from(0).to(kMostListed))) p.push_back(probability(item));
  if (hottest_first) check_hottest_first(p, reader.place_of("p"));
  std::ranges::sort(p, std::ranges::greater{});
  return p;
}

std::vector<AccessSpec::Step> read_steps(MapReader& reader) {
  std::vector<AccessSpec::Step> steps;
  for (const Tree& item : reader.list("rows", Bounds::from(1)))
    steps.push_back({static_cast<std::uint64_t>(count_leaf(Bounds::from(1))(item)), 0});
  const std::vector<Tree>& weights = reader.list("weights");
  if (weights.size() != steps.size())
    throw input_error(reader.place_of("weights"), fmt::format("{} weights of {} steps", weights.size(), steps.size()),
                      "Give one weight per step");
  for (std::size_t i = 0; i < steps.size(); ++i) steps[i].weight = real_leaf(Bounds::from(0))(weights[i]);
  return steps;
}

void read_counts(MapReader& reader, std::uint64_t rows, const std::string& folder, bool hottest_first,
                 AccessSpec& spec) {
  spec.file = read_file_name(reader, "file");
  spec.table = read_label(reader, "table");
  spec.p = read_access_counts(std::filesystem::path(folder) / spec.file, spec.table, rows);
  if (hottest_first) check_hottest_first(spec.p, reader.place_of("file"));
  std::ranges::sort(spec.p, std::ranges::greater{});
}

void read_zipf_mandelbrot(MapReader& reader, AccessSpec& spec) {
  const Bounds not_negative = Bounds::from(0);
  spec.q = reader.real("q", not_negative);
  spec.s = reader.real("s", not_negative);
  if (!reader.has("c")) return;
  spec.c = reader.get("c", real_leaf(Bounds::above(0), "leave c out to scale to the average length"));
}

std::vector<std::string> family_names() {
  std::vector<std::string> names;
  for (const FamilyEntry& entry : access_families()) names.emplace_back(entry.name);
  return names;
}

}  // namespace

AccessSpec read_access(MapReader reader, std::uint64_t rows, const std::string& folder, bool hottest_first) {
  AccessSpec spec;
  spec.family = reader.choice("family", family_names(), "uniform");
  if (spec.family == "zipf") spec.s = reader.real("s", Bounds::from(0));
  if (spec.family == "zipf_mandelbrot") read_zipf_mandelbrot(reader, spec);
  if (spec.family == "piecewise_power_law") spec.knots = read_knots(reader, rows);
  if (spec.family == "log_normal") spec.sigma = reader.real("sigma", Bounds::above(0).to(kMostAccessSigma));
  if (spec.family == "explicit") spec.p = read_listed(reader, hottest_first);
  if (spec.family == "steps") spec.steps = read_steps(reader);
  if (spec.family == "counts") read_counts(reader, rows, folder, hottest_first, spec);
  if (spec.absolute()) spec.rescale = reader.flag("rescale", false);
  reader.finish();
  return spec;
}

}  // namespace shardsim
