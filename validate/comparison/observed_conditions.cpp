#include "validate/comparison/observed_conditions.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "base/text.h"

namespace shardsim {
namespace {

std::optional<double> range_percent(double range, double median) {
  if (median <= 0) return std::nullopt;
  return 100 * range / median;
}

// "name: value; name: value", as machines tell (execute/devices/machine_facts.h), as rows.
void add_fact_rows(Sheet& sheet, std::string_view facts) {
  while (!facts.empty()) {
    const std::size_t end = std::min(facts.find("; "), facts.size());
    const std::string_view fact = facts.substr(0, end);
    facts.remove_prefix(std::min(end + 2, facts.size()));
    const std::size_t colon = fact.find(": ");
    if (colon == fact.npos) continue;
    sheet.rows.push_back({{std::string(fact.substr(0, colon)), std::string(fact.substr(colon + 2))}});
  }
}

}  // namespace

ObservedSpread observed_spread(const TimelineComparison& comparison) {
  ObservedSpread spread;
  const Spread& iteration = comparison.iteration.observed_ms;
  if (comparison.iterations > 1) spread.iterations_pct = range_percent(iteration.max - iteration.min, iteration.median);
  if (comparison.ranks.size() < 2) return spread;
  const auto computing = [](const ComparedRank& rank) { return rank.compute.observed_ms.median; };
  const auto [least, most] = std::ranges::minmax_element(comparison.ranks, {}, computing);
  spread.ranks_pct = range_percent(computing(*most) - computing(*least), computing(*most));
  spread.least_rank = least->rank;
  spread.most_rank = most->rank;
  return spread;
}

std::string observed_on(const TimelineComparison& comparison) {
  const Timeline::Measured& measured = comparison.measured;
  std::string text =
      fmt::format("{}, {} {}", counted(static_cast<std::size_t>(comparison.world_size), "rank"),
                  counted(static_cast<std::size_t>(comparison.iterations), "iteration"),
                  comparison.second == "observed" ? "observed" : "in the " + comparison.second + " timeline");
  const auto add = [&](const char* lead, const std::string& fact) { text += fact.empty() ? "" : lead + fact; };
  add(" on ", measured.device);
  if (!measured.hosts.empty()) text += " (" + join(measured.hosts) + ")";
  add(", ", measured.transport);
  add(", NCCL ", measured.nccl);
  add(", CUDA ", measured.cuda);
  add(", driver ", measured.driver);
  return text + (comparison.complete ? "" : ", INCOMPLETE");
}

Section conditions_section(const TimelineComparison& comparison) {
  Sheet sheet;
  sheet.columns = {{"conditions of what was " + comparison.second, false}, {"", false}};
  if (comparison.second != "observed") return {};
  const ObservedSpread spread = observed_spread(comparison);
  if (spread.iterations_pct)
    sheet.rows.push_back({{"spread from iteration to iteration", fmt::format("{:.1f} %", *spread.iterations_pct)}});
  if (spread.ranks_pct)
    sheet.rows.push_back({{"spread of computing from rank to rank",
                           fmt::format("{:.1f} % (least on rank {}, most on rank {})", *spread.ranks_pct,
                                       spread.least_rank, spread.most_rank)}});
  const Timeline::Measured& measured = comparison.measured;
  if (measured.clock_residual_us > 0 || measured.clock_drift_us > 0)
    sheet.rows.push_back({{"clocks of two nodes", fmt::format("off each other by at most {:.3g} us, drifted {:.3g} us",
                                                              measured.clock_residual_us, measured.clock_drift_us)}});
  add_fact_rows(sheet, measured.more);
  Section section = table_section("Conditions", "", std::move(sheet));
  section.style = Section::Heading::page_only;
  return section;
}

}  // namespace shardsim
