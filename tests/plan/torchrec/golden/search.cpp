// Searches in one dimension, and the budget of caches.

#include <fmt/format.h>

#include <cmath>

#include "tests/case_file/compare.h"
#include "tests/plan/torchrec/golden/binary_search.h"
#include "tests/plan/torchrec/golden/cache_search.h"
#include "tests/plan/torchrec/golden/kinds.h"

namespace shardsim::golden {
namespace {

constexpr double kPrinted = 5.1e-6;  // half of the last of five decimals

double value_at(const std::string& function, double x) {
  if (function == "x") return x;
  if (function == "x*x-10*x+10") return x * x - 10 * x + 10;
  if (function == "(x-30)^2+100*sin(x)") return std::pow(x - 30, 2) + 100 * std::sin(x);
  if (function == "(x-30)^2+(x%10)*100") return std::pow(x - 30, 2) + std::fmod(x, 10) * 100;
  throw std::runtime_error(fmt::format("unknown function '{}'", function));
}

struct Search {
  Json probes = Json::array();
  double best_x = 0, best = INFINITY;
};

Search run(LuusJaakola search, const std::string& function) {
  Search result;
  double value = 0;
  while (const auto x = search.next(value)) {
    value = value_at(function, *x);
    result.probes.push_back(*x);
    if (value < result.best) {
      result.best_x = *x;
      result.best = value;
    }
  }
  return result;
}

struct Interval {
  double left, right;
  int iterations;
};

Interval interval_of(Fields& fields) {
  return {fields.real("A"), fields.real("B"), static_cast<int>(fields.whole("max_iterations"))};
}

}  // namespace

std::vector<std::string> check_luus_jaakola(const Json& input, const Json& expect) {
  Fields fields(input, "input");
  const Interval at = interval_of(fields);
  const Json* left = fields.given("left_cost");
  const Search found = run({at.left, at.right, at.iterations, static_cast<std::uint32_t>(fields.whole("seed")),
                            left ? std::optional(left->get<double>()) : std::nullopt},
                           fields.text("function"));
  fields.finish();
  return differences(expect, {{"probes", found.probes}, {"best", {found.best_x, found.best}}});
}

std::vector<std::string> check_luus_jaakola_list(const Json& input, const Json& expect) {
  Fields fields(input, "input");
  const Interval at = interval_of(fields);
  Json rows = Json::array();
  for (const Json& function : fields.at("functions")) {
    Json row = Json::array();
    for (const Json& seed : fields.at("seeds")) {
      const Search found =
          run({at.left, at.right, at.iterations, seed.get<std::uint32_t>()}, function.get<std::string>());
      row.push_back({found.best_x, found.best});
    }
    rows.push_back(row);
  }
  fields.finish();
  Fields wanted(expect, "expect");
  const double tolerance = wanted.real("tolerance_rel");
  const Json values = {{"best_x_fx", wanted.at("best_x_fx")}};
  wanted.finish();
  return differences(values, {{"best_x_fx", rows}}, tolerance, kPrinted);
}

std::vector<std::string> check_binary_search(const Json& input, const Json& expect) {
  Fields fields(input, "input");
  if (fields.text("predicate") != "x<90") throw std::runtime_error("only the predicate x<90 is known");
  fields.ignore({"run_fields"});
  Json all = Json::array();
  for (const Json& bounds : fields.at("runs")) {
    BinarySearch search(bounds.at(0), bounds.at(1), bounds.at(2));
    Json probes = Json::array();
    bool answer = true;
    while (const auto probe = search.next(answer)) {
      probes.push_back(*probe);
      answer = *probe < 90;
    }
    all.push_back(probes);
  }
  fields.finish();
  return differences(expect, {{"probes", all}});
}

std::vector<std::string> check_allocate_budget(const Json& input, const Json& expect) {
  Fields fields(input, "input");
  const auto ceilings = fields.reals("fused_hbm_ceiling");
  const auto factors = fields.reals("start_load_factors");
  const auto priorities = fields.reals("allocation_priority");
  std::vector<CacheLine> lines;
  for (const Json& line : fields.at("affine_model_A_B")) {
    const std::size_t i = lines.size();
    lines.push_back({line.at(0), line.at(1), ceilings.at(i), factors.at(i), priorities.at(i)});
  }
  const double budget = fields.real("budget_bytes");
  fields.finish();
  return differences(expect, {{"load_factors_float32", spend_cache_budget(lines, budget)}});
}

std::vector<std::string> check_allocate_budget_list(const Json& input, const Json& expect) {
  Fields fields(input, "input");
  const double slope = fields.real("affine_A");
  const double start = fields.real("affine_B");
  const auto tables = static_cast<std::size_t>(fields.whole("num_tables"));
  Json rows = Json::array();
  for (const Json& item : fields.at("scenarios")) {
    Fields scenario(item, "scenario");
    const auto factors = scenario.reals("start");
    const auto priorities = scenario.reals("priority");
    const double ceiling = scenario.real("ceiling_factor") * (slope + start);
    std::vector<CacheLine> lines;
    for (std::size_t i = 0; i < tables; ++i) lines.push_back({slope, start, ceiling, factors.at(i), priorities.at(i)});
    rows.push_back(spend_cache_budget(lines, scenario.real("budget")));
    scenario.finish();
  }
  fields.finish();
  Fields wanted(expect, "expect");
  const double tolerance = wanted.real("tolerance");
  const Json values = {{"load_factors", wanted.at("load_factors")}};
  wanted.finish();
  return differences(values, {{"load_factors", rows}}, 0, tolerance);
}

}  // namespace shardsim::golden
