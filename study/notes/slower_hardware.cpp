#include "study/notes/slower_hardware.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "base/text.h"
#include "study/result/result.h"
#include "study/scenario/scenario.h"

namespace shardsim {
namespace {

std::string network_name(const std::string& transport) {
  static const std::map<std::string, std::string> kNames = {{"infiniband", "InfiniBand"}, {"roce", "RoCE"}};
  const auto known = kNames.find(transport);
  return known == kNames.end() ? transport : known->second;
}

std::string sentence(const TimeOnCluster& first, const TimeOnCluster& second) {
  if (first.set_by_host && second.set_by_host)
    return fmt::format(
        "'{}' and '{}' come out alike to the last digit, for the host sets the time on both, with the same times of "
        "its "
        "own in the model: what their GPUs and networks differ in is hidden beside it.",
        first.cluster, second.cluster);
  const std::string networks =
      first.transport == second.transport
          ? "nothing in which they differ has a time of its own in the model"
          : fmt::format("the model times {} and {} with the same constants and nothing else tells them apart",
                        network_name(first.transport), network_name(second.transport));
  return fmt::format(
      "Not told apart: '{}' and '{}' come out alike to the last digit, for {}. Which of them is really faster is not "
      "known.",
      first.cluster, second.cluster, networks);
}

constexpr double kTellingLead = 1e-4;     // of an iteration
constexpr std::size_t kMostBeaten = 3;    // that a case beats
constexpr std::size_t kMostRivals = 256;  // cases, pair by pair

// A case beside all others that ask for the same.
struct Rivalry {
  const CaseResult* result = nullptr;
  TimeOnHardware time;
  std::vector<const CaseResult*> rivals;
  std::vector<TimeOnHardware> times;  // of these
};

Rivalry rivalry_of(const CaseResult& result, const StudyResult& study, const Scenario& scenario) {
  const auto time_of = [&](const CaseResult& of) {
    return TimeOnHardware{of.name, &case_named(scenario, of.name).cluster, of.iteration_ms};
  };
  Rivalry all{&result, time_of(result), {}, {}};
  for (const CaseResult& other : study.cases) {
    if (&other == &result || !asks_the_same(result, other, scenario)) continue;
    all.rivals.push_back(&other);
    all.times.push_back(time_of(other));
  }
  return all;
}

// `slowest`: of those that it beats.
std::string why_faster(const CaseResult& fast, const CaseResult& slowest) {
  if (fast.placements != slowest.placements)
    return fmt::format(
        "Its plan is another one than that of {}, which planned for its own cluster: 'plan: {{file: FILE}}' gives both "
        "the same.",
        slowest.name);
  return overlap_sentence(slowest, fast);
}

std::string order_note(const Rivalry& fast, const std::vector<std::size_t>& beaten) {
  const std::string why = why_faster(*fast.result, *fast.rivals[beaten.front()]);
  return fmt::format(
      "{}. {}{}No probability is stated for that order: it follows from what happens to run at once, from what NCCL "
      "chooses, or from what the planner does.",
      beaten_text(fast.time, fast.times, beaten), why, why.empty() ? "" : " ");
}

}  // namespace

std::vector<std::string> alike_clusters(const std::vector<TimeOnCluster>& times) {
  std::map<std::pair<std::string, double>, std::vector<const TimeOnCluster*>> equal;
  std::set<std::pair<std::string, std::string>> said;
  std::vector<std::string> sentences;
  for (const TimeOnCluster& time : times) {
    std::vector<const TimeOnCluster*>& others = equal[{time.asked, time.ms}];
    const auto known = std::ranges::find(others, time.cluster, &TimeOnCluster::cluster);
    if (known != others.end()) continue;
    for (const TimeOnCluster* const other : others)
      if (said.insert(std::minmax(other->cluster, time.cluster)).second) sentences.push_back(sentence(*other, time));
    others.push_back(&time);
  }
  return sentences;
}

std::vector<std::size_t> beaten_on_better_hardware(const TimeOnHardware& fast,
                                                   const std::vector<TimeOnHardware>& others) {
  std::vector<std::size_t> beaten;
  for (std::size_t i = 0; i < others.size(); ++i) {
    if (fast.ms < others[i].ms * (1 - kTellingLead) && is_slower_hardware(*fast.cluster, *others[i].cluster))
      beaten.push_back(i);
  }
  std::ranges::stable_sort(beaten, std::greater{}, [&](std::size_t i) { return others[i].ms; });
  return beaten;
}

std::string lead_text(const TimeOnHardware& fast, const std::vector<TimeOnHardware>& others,
                      const std::vector<std::size_t>& beaten) {
  std::vector<std::string> texts;
  for (const std::size_t i : beaten)
    texts.push_back(fmt::format("{:.2g} % faster than {}", 100 * (others[i].ms / fast.ms - 1), others[i].name));
  return first_names(texts, kMostBeaten);
}

std::string beaten_text(const TimeOnHardware& fast, const std::vector<TimeOnHardware>& others,
                        const std::vector<std::size_t>& beaten) {
  return fmt::format("It is {}, although nothing of its cluster is faster", lead_text(fast, others, beaten));
}

void add_slower_hardware_notes(StudyResult& study, const Scenario& scenario) {
  if (study.cases.size() > kMostRivals) return;
  for (CaseResult& item : study.cases) {
    const Rivalry all = rivalry_of(item, study, scenario);
    const std::vector<std::size_t> beaten = beaten_on_better_hardware(all.time, all.times);
    if (beaten.empty()) continue;
    item.beats_better_hardware = lead_text(all.time, all.times, beaten);
    if (item.placements != all.rivals[beaten.front()]->placements) item.why_better_hardware_loses = kAnotherPlan;
    item.notes.push_back(order_note(all, beaten));
  }
}

}  // namespace shardsim
