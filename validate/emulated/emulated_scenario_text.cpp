#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/text.h"
#include "validate/comparison/comparison_report.h"
#include "validate/comparison/comparison_sheets.h"
#include "validate/emulated/campaign_report.h"
#include "validate/emulated/emulated_scenario.h"

namespace shardsim {

std::string round_text(const ScenarioRound& round, int width, bool colour) {
  std::string text = comparison_text(round.report, width, colour) + "\n";
  text += wrapped("Predicted order, the fastest first: " + join(round.predicted_order) +
                      ". Observed: " + join(round.observed_order) + ".",
                  width, "");
  text += wrapped(fmt::format("Judged is the least of the iterations, which noise only lengthens: an iteration within "
                              "{} %, a collective of {} ms or more that shares its tier with no other within {} %.",
                              kIterationTolerancePct, kJudgedCollectiveMs, kCollectiveTolerancePct),
                  width, "");
  text += "\n";
  for (const std::string& line : round.judged) text += "  " + line + "\n";
  for (const std::string& miss : round.outside) text += "OUTSIDE: " + miss + "\n";
  text += "\n";
  return text + wrapped(std::string(what_it_proves()), width, "");
}

std::string round_json(const ScenarioRound& round) {
  auto document = nlohmann::ordered_json::parse(comparison_json(round.report));
  document["emulated"] = {{"within_tolerance", round.holds()},
                          {"judged", round.judged},
                          {"outside", round.outside},
                          {"predicted_order", round.predicted_order},
                          {"observed_order", round.observed_order},
                          {"iteration_tolerance_pct", kIterationTolerancePct},
                          {"collective_tolerance_pct", kCollectiveTolerancePct},
                          {"judged_from_ms", kJudgedCollectiveMs},
                          {"what_it_proves", what_it_proves()}};
  return document.dump(2) + "\n";
}

}  // namespace shardsim
