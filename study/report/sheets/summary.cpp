#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <vector>

#include "base/document/cells.h"
#include "base/text.h"
#include "study/report/case_groups.h"
#include "study/report/sheets/how_sure.h"
#include "study/report/sheets/planner_sheets.h"
#include "study/report/sheets/published_iterations.h"
#include "study/report/sheets/result_sheets.h"
#include "study/report/wording.h"
#include "study/result/case_figures.h"

namespace shardsim {
namespace {

constexpr std::size_t kWorkloadsInWords = 6;
constexpr std::size_t kJobsInWords = 6;

std::string count_of(std::size_t count, const std::string& noun) {
  return fmt::format("{} {}{}", with_thousands(static_cast<std::int64_t>(count)), noun, count == 1 ? "" : "s");
}

std::string limited_by(const CaseResult& item) {
  return item.limit.what.empty()
             ? ""
             : fmt::format(" ({}: busy {:.0f} %)", unit_in_words(item.limit.what), 100 * item.limit.share);
}

// How many times as fast a plan is as which other one.
struct Gain {
  double times = 1;
  std::string than;
};

// As in the table of cases; of the case that the others are measured against, against the slowest that fits. Where the
// placement that is told makes the best one slower than that, on average over all of them. Nothing where none fits.
std::optional<Gain> gain_of(const CaseResult& best, const WorkloadCases& group, const StudyResult& study) {
  const CaseResult* base = measured_against(best, group, study);
  if (base == nullptr || base == &best || !fits(*base)) base = slowest_that_fits(group);
  if (base == nullptr) return std::nullopt;
  const double told = base->samples_per_s > 0 ? best.samples_per_s / base->samples_per_s : 1;
  return Gain{told < 1 ? expected_rate(best) / expected_rate(*base) : told, short_name(*base)};
}

std::string gain_text(const std::optional<Gain>& gain) {
  return gain ? fmt::format(", {:.2f} times as fast as {}", gain->times, gain->than) : "";
}

std::string milliseconds(const CaseResult& item) {
  return fixed(item.iteration_ms, decimals_for(item.iteration_ms)) + " ms";
}

std::string range_text(const CaseResult& item, std::string_view lead = "80 % within ") {
  return item.interval ? fmt::format(" ({}{})", lead, interval_cell(*item.interval)) : "";
}

// The plan that the comparison of planners has just told of, where this case is the same again by another name.
const CaseResult* told_by_comparison(const CaseResult& item, const StudyResult& study) {
  for (const PlannerComparison& comparison : study.comparisons) {
    for (const ComparedPlan& plan : comparison.planners) {
      const auto of = std::ranges::find(study.cases, plan.name, &CaseResult::name);
      if (of != study.cases.end() && of->workload == item.workload && of->cluster == item.cluster &&
          of->planner == item.planner && of->iteration_ms == item.iteration_ms &&
          of->samples_per_s == item.samples_per_s)
        return &*of;
    }
  }
  return nullptr;
}

// The answer for the only workload, or one of few.
std::string one_workload(const WorkloadCases& group, const StudyResult& study, bool only) {
  const CaseResult& best = *group.cases.front();
  const CaseResult& slowest = *group.cases.back();
  const std::string time = milliseconds(best) + range_text(best);
  if (group.cases.size() == 1) {
    if (const CaseResult* const other = told_by_comparison(best, study))
      return fmt::format("{}, which is the case {}, too, has {} samples/s{}", other->name, best.name,
                         grouped(best.samples_per_s), limited_by(best));
    return fmt::format("{} takes {} per iteration, {} samples/s{}", best.name, time, grouped(best.samples_per_s),
                       limited_by(best));
  }
  if (!is_one_choice(group)) {
    return fmt::format("the {} cases of {} differ in GPUs, cluster or batch: {} samples/s ({}) to {} ({})",
                       group.cases.size(), group.workload, grouped(slowest.samples_per_s), short_name(slowest),
                       grouped(best.samples_per_s), short_name(best));
  }
  const std::string gain = gain_text(gain_of(best, group, study));
  if (!only)
    return fmt::format("for {} {} with {}{}{}", group.workload, short_name(best), time, gain, limited_by(best));
  return fmt::format("{} is the fastest plan: {} per iteration{}, {} samples/s{}{}", short_name(best),
                     milliseconds(best), range_text(best), grouped(best.samples_per_s), gain, limited_by(best));
}

bool has_choice(const WorkloadCases& group) {
  return group.cases.size() > 1 && is_one_choice(group);
}

bool have_one_winner(const std::vector<WorkloadCases>& groups) {
  return groups.size() > 1 && std::ranges::all_of(groups, [&](const WorkloadCases& group) {
           return has_choice(group) && short_name(*group.cases.front()) == short_name(*groups.front().cases.front());
         });
}

// ", 1.69 to 3.47 times as fast as row_wise"; "" where it is measured against unlike plans.
std::string gains_text(const std::vector<WorkloadCases>& groups, const StudyResult& study) {
  double least = 0, most = 0;
  std::string than;
  for (const WorkloadCases& group : groups) {
    const std::optional<Gain> gain = gain_of(*group.cases.front(), group, study);
    if (!gain || (!than.empty() && gain->than != than)) return "";
    least = than.empty() ? gain->times : std::min(least, gain->times);
    most = std::max(most, gain->times);
    than = gain->than;
  }
  return fmt::format(", {:.2f} to {:.2f} times as fast as {}", least, most, than);
}

// ", and NICs limit it"; "" where units of unlike kinds do.
std::string common_limit(const std::vector<WorkloadCases>& groups) {
  const std::string kind = kind_that_limits(groups.front().cases.front()->limit.what);
  const bool same = std::ranges::all_of(
      groups, [&](const WorkloadCases& group) { return kind_that_limits(group.cases.front()->limit.what) == kind; });
  return kind.empty() || !same ? "" : fmt::format(", and {} it", kind);
}

std::string more_workloads(const std::vector<WorkloadCases>& groups) {
  return count_of(groups.size() - kWorkloadsInWords, "more workload") + " in the table of cases";
}

// One plan that is the fastest of every workload, and what each takes with it.
std::string one_winner(const std::vector<WorkloadCases>& groups, const StudyResult& study) {
  std::vector<std::string> times;
  for (const WorkloadCases& group : groups) {
    if (times.size() == kWorkloadsInWords) break;
    const CaseResult& best = *group.cases.front();
    times.push_back(
        times.empty() ? fmt::format("{} takes {} per iteration{}", group.workload, milliseconds(best), range_text(best))
                      : fmt::format("{} {}{}", group.workload, milliseconds(best), range_text(best, "")));
  }
  if (groups.size() > kWorkloadsInWords) times.push_back(more_workloads(groups));
  return fmt::format("{} is the fastest plan of all {} workloads{}{}: {}.", short_name(*groups.front().cases.front()),
                     groups.size(), gains_text(groups, study), common_limit(groups), join(times));
}

// "The fastest plans" only where there was a choice.
std::string answer(const std::vector<WorkloadCases>& groups, const StudyResult& study) {
  if (have_one_winner(groups)) return one_winner(groups, study);
  const bool choice = groups.size() > 1 && std::ranges::any_of(groups, has_choice);
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < std::min(groups.size(), kWorkloadsInWords); ++i) {
    parts.push_back(one_workload(groups[i], study, groups.size() == 1));
  }
  if (groups.size() > kWorkloadsInWords) parts.push_back(more_workloads(groups));
  const WorkloadCases& first = groups.front();
  if (!choice && first.cases.size() > 1 && !has_choice(first))
    parts.front() = capital(parts.front());  // "The 4 cases", never a case's name
  return (choice ? "The fastest plan is " : "") + join(parts, "; ") + ".";
}

std::set<std::string> compared_cases(const StudyResult& study) {
  std::set<std::string> names;
  for (const PlannerComparison& comparison : study.comparisons) {
    for (const ComparedPlan& plan : comparison.planners) names.insert(plan.name);
  }
  return names;
}

// Jobs are no choice between plans: what is told of them is what they cost each other. Planners have a sentence of
// their own.
std::vector<WorkloadCases> plain_cases(const StudyResult& study) {
  const std::set<std::string> compared = compared_cases(study);
  std::vector<WorkloadCases> groups = by_workload(study);
  for (WorkloadCases& group : groups) {
    std::erase_if(group.cases, [&](const CaseResult* item) { return item->job || compared.contains(item->name); });
  }
  std::erase_if(groups, [](const WorkloadCases& group) { return group.cases.empty(); });
  // A plan that runs out of memory is no answer, unless there is no other.
  for (WorkloadCases& group : groups) {
    const auto unfit = [](const CaseResult* item) { return !fits(*item); };
    const auto end = std::remove_if(group.cases.begin(), group.cases.end(), unfit);
    if (end != group.cases.begin()) group.cases.erase(end, group.cases.end());
  }
  return groups;
}

std::string job_in_words(const CaseResult& item) {
  const std::string time = fixed(item.iteration_ms, decimals_for(item.iteration_ms));
  const double slowdown = item.job->slowdown_pct(item.iteration_ms);
  if (std::abs(slowdown) < 0.05) return fmt::format("{} takes {} ms per iteration, as alone", item.name, time);
  return fmt::format("{} takes {} ms per iteration ({:+.1f} % against {} ms alone)", item.name, time, slowdown,
                     fixed(item.job->alone_ms, decimals_for(item.job->alone_ms)));
}

std::string jobs_sentence(const StudyResult& study) {
  std::vector<std::string> parts;
  std::size_t jobs = 0;
  for (const CaseResult& item : study.cases) {
    if (item.job && ++jobs <= kJobsInWords) parts.push_back(job_in_words(item));
  }
  if (jobs > kJobsInWords) parts.push_back(count_of(jobs - kJobsInWords, "more job") + " in the table of jobs");
  return parts.empty() ? "" : "Side by side on one fabric, " + join(parts, "; ") + ".";
}

}  // namespace

std::string summary_text(const StudyResult& study) {
  std::string text = planners_sentence(study);
  if (study.cases.empty()) return text.empty() ? "No case was simulated." : text;
  const std::vector<WorkloadCases> groups = plain_cases(study);
  const std::string jobs = jobs_sentence(study);
  const bool judged = !published_iterations(study).empty();  // then how far off they are is what the page is for
  if (judged) text = accuracy_text(study);
  for (const std::string& part : {groups.empty() ? "" : answer(groups, study), jobs}) {
    if (!part.empty()) text += (text.empty() ? "" : " ") + part;
  }
  const bool told = !study.comparisons.empty() && chosen_is_as_fast(study);
  const std::string sure = judged || told ? "" : choice_sentence(study);
  if (!sure.empty()) text += " " + sure;
  return text + memory_sentence(study);
}

std::string slower_hardware_warning(const StudyResult& study) {
  for (const WorkloadCases& group : by_workload(study)) {
    const CaseResult* const best = fastest_that_fits(group);
    if (best != nullptr && !best->beats_better_hardware.empty())
      return fmt::format(
          "{} is {}, although nothing of its cluster is faster: that is no advice to take it, and no chance is stated. "
          "{}",
          best->name, best->beats_better_hardware,
          best->why_better_hardware_loses.empty() ? "The notes say where it comes from."
                                                  : best->why_better_hardware_loses);
  }
  return "";
}

// The fastest of each workload, which readers look at first, then the others in the order of the scenario.
std::vector<const CaseResult*> fastest_of_workloads_first(const StudyResult& study) {
  std::vector<const CaseResult*> cases;
  for (const WorkloadCases& group : by_workload(study)) cases.push_back(group.cases.front());
  const std::set<const CaseResult*> first(cases.begin(), cases.end());
  for (const CaseResult& item : study.cases)
    if (!first.contains(&item)) cases.push_back(&item);
  return cases;
}

std::vector<std::pair<std::string, std::vector<std::string>>> notes_by_text(const StudyResult& study) {
  std::vector<std::pair<std::string, std::vector<std::string>>> notes;
  const auto known = [&](const std::string& text) {
    return std::ranges::find(notes, text, &std::pair<std::string, std::vector<std::string>>::first);
  };
  for (const CaseResult* const item : fastest_of_workloads_first(study))
    for (const std::string& text : item->notes)
      if (known(text) == notes.end()) notes.push_back({text, {}});
  for (const CaseResult& item : study.cases)
    for (const std::string& text : item.notes) known(text)->second.push_back(item.name);
  return notes;
}

}  // namespace shardsim
