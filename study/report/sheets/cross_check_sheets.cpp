#include <fmt/format.h>

#include <algorithm>

#include "base/document/cells.h"
#include "study/report/sheets/result_sheets.h"

namespace shardsim {
namespace {

std::string heading(const CrossCheck& check) {
  return fmt::format("{} on {}", check.workload, check.cluster);
}

std::string place_text(double place) {
  return fmt::format("{:g}", place);
}

std::string short_ms(double ms) {
  return fixed(ms, decimals_for(ms));
}

Sheet::Row worst_row(const ExplainedPlan& plan, const StudyResult& study) {
  const CaseResult& item = study.cases[plan.index];
  return {{item.name, short_ms(item.torchrec->estimate.iteration_ms), place_text(plan.place_estimated),
           short_ms(item.iteration_ms), place_text(plan.place_simulated), std::string(words(plan.largest()).name),
           fmt::format("{:+.3g}", plan.here[static_cast<std::size_t>(plan.largest())]),
           fmt::format("{:+.3g}", plan.others[static_cast<std::size_t>(plan.largest())])},
          false};
}

Sheet::Row effects_row(const std::string& what, const EffectTimes& times, bool quiet) {
  Sheet::Row row{{what}, quiet};
  double sum = 0;
  for (const double ms : times) {
    row.cells.push_back(fmt::format("{:+.2f}", ms));
    sum += ms;
  }
  row.cells.push_back(fmt::format("{:+.2f}", sum));
  return row;
}

Sheet::Row correlations_row(const CrossCheck& check) {
  Sheet::Row row{{"Spearman\u00a0with"}, false};
  for (const double correlation : check.spearman_with) row.cells.push_back(fixed(correlation, 3));
  row.cells.push_back(fixed(1, 3));
  return row;
}

}  // namespace

std::string cross_check_text(const CrossCheck& check, const StudyResult& study) {
  const CaseResult& chosen = study.cases[check.estimates_choice];
  const CaseResult& fastest = study.cases[check.fastest];
  std::string text =
      fmt::format("{} plans of {}: rank correlation of estimate and simulation {:.3f} (Spearman), {:.3f} (Kendall). ",
                  check.compared, heading(check), check.spearman, check.kendall);
  if (check.estimates_choice == check.fastest) {
    return text + fmt::format("The estimate's choice, {}, is the fastest in the simulation, too ({} ms, estimated {}).",
                              chosen.name, short_ms(chosen.iteration_ms),
                              short_ms(chosen.torchrec->estimate.iteration_ms));
  }
  return text + fmt::format(
                    "The estimate's choice, {} (estimated {} ms), takes {} ms in the simulation, {:.1f} % longer "
                    "than the fastest, {} ({} ms).",
                    chosen.name, short_ms(chosen.torchrec->estimate.iteration_ms), short_ms(chosen.iteration_ms),
                    check.regret_pct, fastest.name, short_ms(fastest.iteration_ms));
}

std::string missing_text(const CrossCheck& check) {
  std::string text;
  for (const MissingTerm& term : check.missing) {
    const bool first = text.empty();
    text += fmt::format("{}the simulation's {}{} {:.3f}", first ? "With " : "; with ", words(term.effect).name,
                        first ? " in the estimate, Spearman's would be" : " too,", term.spearman);
  }
  return text.empty() ? "" : text + ".";
}

Sheet worst_sheet(const StudyResult& study) {
  Sheet sheet;
  sheet.columns = {{"plan", false},         {"est. ms"}, {"est. place"}, {"sim. ms"}, {"sim. place"},
                   {"missing term", false}, {"ms here"}, {"ms others"}};
  for (const CrossCheck& check : study.cross_checks) {
    if (study.cross_checks.size() > 1 && !check.worst.empty()) sheet.rows.push_back({{heading(check)}, false});
    for (const ExplainedPlan& plan : check.worst) sheet.rows.push_back(worst_row(plan, study));
  }
  return sheet;
}

std::string worst_legend() {
  return "The plans whose ranks in the two orders differ most, and for each the effect that its estimate misses most: "
         "by how much this makes the simulation longer than the estimate, for this plan and on average for the plans "
         "with which it changes places.";
}

Section effects_section(const StudyResult& study) {
  Sheet sheet;
  sheet.columns = {{"plan", false}};
  for (std::size_t i = 0; i < kEffects; ++i) sheet.columns.push_back({std::string(words(effect_at(i)).name)});
  sheet.columns.push_back({"sum"});
  for (const CrossCheck& check : study.cross_checks) {
    sheet.rows.push_back({{heading(check)}, false});
    sheet.rows.push_back(effects_row("all,\u00a0mean", check.mean_effects, false));
    sheet.rows.push_back(correlations_row(check));
    for (const ExplainedPlan& plan : check.worst) {
      sheet.rows.push_back(effects_row(study.cases[plan.index].name, plan.here, false));
      sheet.rows.push_back(effects_row(fmt::format("{}\u00a0others", plan.changed), plan.others, true));
    }
  }
  return table_section(
      "What the estimate does not contain, effect by effect",
      "In ms; above 0 the simulation takes longer than the estimate. Contention, overlap, start-ups and uneven "
      "loads: what the simulation loses when each is taken away, one after the other. The rest: what is left of "
      "each kind of work on an average rank, less what the estimate has for it. Added up they are the simulated "
      "iteration less the estimated one. Others: the mean of the plans that the one above changes places with. "
      "Spearman with: the rank correlation if the estimate knew this term of every plan. docs/crosscheck.md says "
      "more.",
      sheet);
}

}  // namespace shardsim
