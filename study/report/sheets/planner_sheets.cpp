#include "study/report/sheets/planner_sheets.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "base/document/cells.h"
#include "base/text.h"
#include "study/report/case_groups.h"
#include "study/report/sheets/result_sheets.h"
#include "study/report/wording.h"
#include "study/result/case_figures.h"

namespace shardsim {
namespace {

constexpr std::size_t kFewComparisons = 4;  // which a terminal shows planner by planner

const Interval* interval_of(const ComparedPlan& plan, const StudyResult& study) {
  const auto of = std::ranges::find(study.cases, plan.name, &CaseResult::name);
  return of == study.cases.end() || !of->interval ? nullptr : &*of->interval;
}

// The columns that have something to tell.
struct Told {
  bool bound = false, cost = false, torchrec = false, range = false;

  explicit Told(const StudyResult& study) {
    for (const PlannerComparison& comparison : study.comparisons) {
      bound = bound || comparison.lower_bound_ms.has_value();
      for (const ComparedPlan& plan : comparison.planners) {
        cost = cost || plan.figures.values.contains("cost_ms");
        torchrec = torchrec || plan.beyond_torchrec.has_value();
        range = range || interval_of(plan, study) != nullptr;
      }
    }
  }
};

std::string over_text(std::int64_t bytes) {
  const double share = static_cast<double>(bytes) / kGiB;
  if (share < 0.01) return fmt::format("{} B over", grouped(static_cast<double>(bytes)));
  return fmt::format("{} GiB over", fixed(share, share < 10 ? 2 : 1));
}

std::string bound_cell(const std::optional<double>& times) {
  return times ? fixed(*times, 3) : "-";
}

std::string seconds_cell(const StudyResult& study, const ComparedPlan& plan) {
  const auto known = study.planning_cpu_s.find(plan.name);
  if (known == study.planning_cpu_s.end()) return "-";
  return known->second < 1e-3 ? "< 0.001" : fixed(known->second, 3);
}

Sheet::Row planner_row(const ComparedPlan& plan, const PlannerComparison& comparison, const StudyResult& study,
                       const Told& told) {
  const int places = decimals_for(longest_iteration_ms(study));
  Sheet::Row row{{plan.planner, plan.iteration_ms ? fixed(*plan.iteration_ms, places) : "-"}, !plan.fitting_ms()};
  const Interval* const interval = interval_of(plan, study);
  if (told.range) row.cells.push_back(interval != nullptr ? interval_cell(*interval) : "-");
  row.cells.push_back(ratio_cell(plan.iteration_ms, comparison.best_ms()));
  if (told.bound) row.cells.push_back(bound_cell(comparison.times_bound(plan)));
  row.cells.push_back(memory_outcome(plan));
  if (told.torchrec) row.cells.push_back(!plan.beyond_torchrec ? "-" : plan.beyond_torchrec->empty() ? "yes" : "no");
  row.cells.push_back(seconds_cell(study, plan));
  if (told.cost) {
    const auto cost = plan.figures.values.find("cost_ms");
    row.cells.push_back(cost == plan.figures.values.end() ? "-" : fixed(cost->second, places));
    row.cells.push_back(signed_percent(plan.cost_error_pct()));
  }
  return row;
}

std::string comparison_heading(const PlannerComparison& comparison, int places) {
  const std::string name = comparison.name == comparison.workload ? "" : comparison.name + ": ";
  const std::string instead = comparison.also.empty() ? ""
                              : comparison.also.size() == 1
                                  ? ", instead of " + comparison.also.front()
                                  : fmt::format(", instead of {} cases", comparison.also.size());
  const std::string bound =
      comparison.lower_bound_ms ? fmt::format(", lower bound {} ms", fixed(*comparison.lower_bound_ms, places)) : "";
  return fmt::format("{}{} on {}: {}{}{}", name, comparison.workload, comparison.cluster,
                     counted(static_cast<std::size_t>(comparison.world_size), "GPU"), bound, instead);
}

Sheet planners_sheet(const StudyResult& study, Medium medium) {
  const Told told(study);
  const bool minor = medium == Medium::page;  // a narrow one keeps the time, its range, and how far it is from the best
  Sheet sheet;
  sheet.columns = {{"planner", false}, {"iteration ms"}};
  if (told.range) sheet.columns.push_back({"80 % within"});
  sheet.columns.push_back({"x best"});
  if (told.bound) sheet.columns.push_back({"x bound", true, false, true});
  sheet.columns.push_back({"memory", false, false, minor});
  if (told.torchrec) sheet.columns.push_back({"TorchRec", false, false, minor});
  sheet.columns.push_back({"planning s", true, false, true});
  if (told.cost)
    sheet.columns.insert(sheet.columns.end(), {{"own cost ms", true, false, true}, {"error %", true, false, true}});
  for (const PlannerComparison& comparison : study.comparisons) {
    sheet.rows.push_back({{comparison_heading(comparison, decimals_for(longest_iteration_ms(study)))}, false});
    for (const ComparedPlan* plan : fastest_first(comparison, study)) {
      sheet.rows.push_back(planner_row(*plan, comparison, study, told));
    }
  }
  return sheet;
}

template <typename Of>
std::string distinct(const StudyResult& study, Of of) {
  std::set<std::string> words;
  for (const PlannerComparison& comparison : study.comparisons) words.insert(of(comparison));
  return join({words.begin(), words.end()});
}

// Returns what the lower bounds leave out, and which plans they do not hold for.
std::string bound_text(const StudyResult& study) {
  std::string text = " x bound: the iteration divided by a lower bound, below which no plan can be";
  std::set<std::string> lacks, host;
  for (const PlannerComparison& comparison : study.comparisons) {
    if (!comparison.lower_bound_lacks.empty()) lacks.insert(comparison.lower_bound_lacks);
    for (const ComparedPlan& plan : comparison.planners) {
      if (plan.host_rows && comparison.lower_bound_ms) host.insert(plan.name);
    }
  }
  text += lacks.empty()
              ? "."
              : "; the bound is weak, because it does not include " + join({lacks.begin(), lacks.end()}) + ".";
  if (host.empty()) return text;
  return text + fmt::format(" The bound holds for plans with all rows in device memory, and so not for {}.",
                            some_names({host.begin(), host.end()}));
}

// Returns which plans TorchRec cannot run, by what they have.
std::string torchrec_text(const StudyResult& study) {
  std::map<std::string, std::vector<std::string>> beyond;
  for (const PlannerComparison& comparison : study.comparisons) {
    for (const ComparedPlan& plan : comparison.planners) {
      if (!plan.beyond_torchrec || plan.beyond_torchrec->empty()) continue;
      beyond[*plan.beyond_torchrec].push_back(study.comparisons.size() == 1 ? plan.planner : plan.name);
    }
  }
  constexpr std::size_t kShown = 5;
  std::string text = " TorchRec: whether it can run the plan.";
  for (const auto& [what, plans] : beyond) text += fmt::format(" Not {}: {}.", first_names(plans, kShown), what);
  return text;
}

bool states_cost(const StudyResult& study, std::string_view planner) {
  return std::ranges::any_of(study.comparisons, [&](const PlannerComparison& comparison) {
    return std::ranges::any_of(comparison.planners, [&](const ComparedPlan& plan) {
      return plan.planner == planner && plan.figures.values.contains("cost_ms");
    });
  });
}

std::string planners_legend(const StudyResult& study) {
  const Told told(study);
  std::string text = judge_text(study) + (told.range ? " 80 % within" + std::string(kIntervalLegend) : "") +
                     " x best: the iteration divided by the shortest one of the case.";
  if (told.bound) text += bound_text(study);
  text +=
      " memory: whether the simulated peak fits, or what is missing on the fullest GPU; of a plan that was not "
      "simulated, by the memory model." +
      reserve_text(study) + (told.torchrec ? torchrec_text(study) : "") +
      " planning s: CPU time of planning, the only figure that differs from run to run.";
  if (told.cost) {
    text += " own cost: the planner's own estimate of the iteration, with its error compared with the simulated one";
    text +=
        states_cost(study, "search") ? "; of search a closed form, in which transfers do not slow each other." : ".";
  }
  return text;
}

// Each reason once, with the planners that it holds for: of those that need options, or of the others.
NoteList reasons(const StudyResult& study, bool need_options) {
  NoteList list;
  for (const PlannerComparison& comparison : study.comparisons) {
    for (const ComparedPlan& plan : comparison.planners) {
      if (plan.reason.empty() || plan.needs_options != need_options) continue;
      const std::string& about = study.comparisons.size() == 1 ? plan.planner : plan.name;
      const auto known = std::ranges::find(list.notes, plan.reason, &NoteList::Note::text);
      if (known == list.notes.end()) {
        list.notes.push_back({plan.reason, about});
      } else {
        known->about += ", " + about;
      }
    }
  }
  return list;
}

void add_reasons(Section& section, const std::string& lead, NoteList list) {
  if (list.notes.empty()) return;
  section.blocks.emplace_back(Paragraph{lead});
  section.blocks.emplace_back(std::move(list));
}

// Returns a text on the times of the plans when all have an option that is there for any of them.
std::string deduplicated_text(const PlannerComparison& comparison, const StudyResult& study) {
  const std::vector<FairTime> times = fair_times(comparison, study);
  if (times.empty()) return "";
  const int places = decimals_for(longest_iteration_ms(study));
  std::vector<std::string> parts;
  for (const FairTime& time : times) {
    parts.push_back(fmt::format("{} {} ms{} (x best {})", time.plan->planner, fixed(time.ms, places),
                                time.deduplicated ? "" : " without it", fixed(time.ms / times.front().ms, 3)));
  }
  return fmt::format(
      "{} same plans, with index_dedup of sequences where that is faster: {}. They were made without it: "
      "with 'index_dedup: true' in the workload, planners plan for it, and their order may be another.",
      study.comparisons.size() == 1 ? "The" : comparison.name + ": the", join(parts));
}

}  // namespace

std::string judge_text(const StudyResult& study) {
  const std::string judges = distinct(study, [](const auto& each) { return each.judged_by; });
  std::string text = fmt::format("All plans are judged by simulation with the compute model {} and the network {}.",
                                 judges, distinct(study, [](const auto& each) { return each.network; }));
  std::set<std::string> trained, in_model;
  for (const PlannerComparison& comparison : study.comparisons) {
    for (const ComparedPlan& plan : comparison.planners) {
      if (plan.figures.trained_on.empty()) continue;
      trained.insert(fmt::format("{} on {}", plan.planner, plan.figures.trained_on));
      if (comparison.in_model(plan)) in_model.insert(plan.planner);
    }
  }
  text += trained.empty() ? " None of the planners was trained on data."
                          : fmt::format(" Trained: {}; the others not.", join({trained.begin(), trained.end()}));
  if (in_model.empty()) return text;
  return text + fmt::format(
                    " In-model: the model that labelled the training data of {} also judges it here. The comparison "
                    "therefore shows how well the planner searches, but not how well its costs hold on a machine.",
                    join({in_model.begin(), in_model.end()}));
}

std::string ratio_cell(const std::optional<double>& ms, const std::optional<double>& base) {
  return ms && base ? fixed(*ms / *base, 3) : "-";
}

std::vector<const ComparedPlan*> fastest_first(const PlannerComparison& comparison, const StudyResult& study) {
  const CaseResult unknown;
  std::map<std::string_view, const CaseResult*> results;
  for (const CaseResult& item : study.cases) results[item.name] = &item;
  std::vector<const ComparedPlan*> plans;
  for (const ComparedPlan& plan : comparison.planners)
    if (!plan.needs_options) plans.push_back(&plan);
  std::ranges::stable_sort(plans, {}, [&](const ComparedPlan* plan) {
    const auto of = results.find(plan->name);
    const CaseResult& result = of == results.end() ? unknown : *of->second;
    const double mean = result.iteration_ms > 0 ? expected_ms(result) / result.iteration_ms : 1;  // over placements
    return std::tuple(!plan->iteration_ms, plan->iteration_ms && plan->bytes_over,
                      order_key(plan->iteration_ms.value_or(0) * mean, result));
  });
  return plans;
}

std::string memory_outcome(const ComparedPlan& plan) {
  if (plan.bytes_over) return over_text(*plan.bytes_over);
  return plan.iteration_ms ? "fits" : "no plan";
}

bool any_in_model(const StudyResult& study) {
  return std::ranges::any_of(study.comparisons, [](const auto& comparison) { return comparison.in_model(); });
}

bool is_large_comparison(const StudyResult& study) {
  if (study.comparisons.size() <= kFewComparisons) return false;
  std::size_t compared = 0;
  for (const PlannerComparison& comparison : study.comparisons) {
    compared += static_cast<std::size_t>(std::ranges::count_if(
        comparison.planners, [](const ComparedPlan& plan) { return plan.iteration_ms.has_value(); }));
  }
  return compared == study.cases.size();
}

Section planners_section(const StudyResult& study, Medium medium) {
  const bool many = study.comparisons.size() > kFewComparisons;
  if (study.comparisons.empty() || (many && medium == Medium::terminal)) return {};
  Section section = table_section("Planners", planners_legend(study), planners_sheet(study, medium));
  if (any_in_model(study)) section.remark = "in-model";
  section.folded = many;
  for (const PlannerComparison& comparison : study.comparisons) {
    const std::string text = deduplicated_text(comparison, study);
    if (!text.empty()) section.blocks.emplace_back(Paragraph{text});
  }
  add_reasons(section, "Without a plan, and why:", reasons(study, false));
  add_reasons(section, "Not compared, because 'all' does not give the options that they need:", reasons(study, true));
  return section;
}

}  // namespace shardsim
