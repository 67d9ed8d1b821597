#include "study/report/sheets/how_sure.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "base/document/cells.h"
#include "base/statistics.h"
#include "base/text.h"
#include "study/confidence/evidence.h"
#include "study/confidence/faster.h"
#include "study/notes/slower_hardware.h"
#include "study/report/case_groups.h"
#include "study/report/sheets/published_iterations.h"
#include "study/report/wording.h"
#include "study/result/case_figures.h"

namespace shardsim {
namespace {

constexpr std::size_t kFewChoices = 4;  // that a terminal shows
constexpr std::size_t kFewOthers = 3;   // of each

// To three digits, and whole ones above.
std::string three_digits(double ms) {
  const int digits_before = ms > 0 ? static_cast<int>(std::floor(std::log10(ms))) + 1 : 1;
  return fixed(ms, std::max(0, 3 - digits_before));
}

Sheet choices_sheet(const StudyResult& study, bool few) {
  Sheet sheet;
  sheet.columns = {{"chosen, and faster than", false, true}, {"chance %"}, {"expected regret %"}};
  const std::size_t shown = few ? std::min(kFewChoices, study.choices.size()) : study.choices.size();
  for (std::size_t i = 0; i < shown; ++i) {
    const Choice& choice = study.choices[i];
    sheet.rows.push_back({{choice.chosen}, false});
    const std::size_t others = few ? std::min(kFewOthers, choice.others.size()) : choice.others.size();
    for (std::size_t j = 0; j < others; ++j) {
      const Choice::Other& other = choice.others[j];
      sheet.rows.push_back({{other.name, other_cell(study, choice, other), regret_cell(other.regret_pct)}, false});
    }
  }
  return sheet;
}

// Each text once, with the cases that it holds for.
NoteList grouped_notes(const StudyResult& study, const auto& texts_of) {
  std::vector<std::pair<std::string, std::vector<std::string>>> notes;
  for (const CaseResult& item : study.cases) {
    if (!item.interval) continue;
    for (const std::string& text : texts_of(*item.interval)) {
      auto known = std::ranges::find_if(notes, [&](const auto& note) { return note.first == text; });
      if (known == notes.end()) known = notes.insert(notes.end(), {text, {}});
      known->second.push_back(item.name);
    }
  }
  NoteList list;
  for (const auto& [text, names] : notes) list.notes.push_back({text, some_names(names)});
  return list;
}

// Notes on how an iteration depends on where its hot rows lie.
NoteList placement_notes(const StudyResult& study) {
  NoteList list;
  for (const CaseResult& item : study.cases) {
    const std::vector<double> ms = row_placements_ms(item);
    if (ms.empty() || !item.interval || item.interval->placement_scale() < kTellingPlacement) continue;
    if (list.notes.empty())
      list.notes.push_back(
          {"A hash of the ids decides which GPU gets which of the hottest rows, and nobody knows it "
           "before training: intervals and chances contain it. 'load: {placement: SEED}' fixes it, and 'load: "
           "{draw: N}' takes one of the placements by its number, so that runs of changed scenarios have their "
           "rows in the same places.",
           ""});
    const FourInFive range = four_in_five(ms);
    list.notes.push_back({fmt::format("Over {} placements of its rows, an iteration takes {} to {} ms in four of five "
                                      "cases, {} on average. The time shown here is that of placement {}.",
                                      ms.size(), three_digits(range.low), three_digits(range.high),
                                      three_digits(expected_ms(item)), item.row_draw.value_or(1)),
                          item.name});
  }
  return list;
}

// A note on two cases of which the one that comes first is told with the longer time; "" where it is not. `rates`: in
// samples per second, and not in the time of an iteration.
std::string order_text(const CaseResult& first, const CaseResult& second, bool rates) {
  const auto told = [&](const CaseResult& item) { return rates ? 1 / item.samples_per_s : item.iteration_ms; };
  if (told(first) <= told(second)) return "";
  if (rates) {
    const auto expected = [](const CaseResult& item) { return grouped(expected_rate(item)); };
    return fmt::format(
        "{} comes before {}, although the placement of its rows that is told trains fewer samples per "
        "second ({} and {}): on average over all placements it trains {}, and {} {}.",
        first.name, second.name, grouped(first.samples_per_s), grouped(second.samples_per_s), expected(first),
        second.name, expected(second));
  }
  return fmt::format(
      "{} comes before {}, although the placement of its rows that is told takes longer: on average over "
      "all placements an iteration takes {} ms, and {} with {}; {} and {} are told.",
      first.name, second.name, three_digits(expected_ms(first)), three_digits(expected_ms(second)), second.name,
      three_digits(first.iteration_ms), three_digits(second.iteration_ms));
}

NoteList order_notes(const StudyResult& study) {
  const auto named = [&](const std::string& name) -> const CaseResult& { return study.case_named(name); };
  NoteList list;
  const auto add = [&](std::string text) {
    if (!text.empty()) list.notes.push_back({std::move(text), ""});
  };
  for (const Choice& choice : study.choices)
    add(order_text(named(choice.chosen), named(choice.others.front().name), false));
  for (const MachineOrder& order : study.machines) add(order_text(named(order.faster), named(order.than), true));
  return list;
}

std::vector<std::string> outside_texts(const Interval& interval) {
  if (interval.outside.empty()) return {};
  return {outside_sentence(interval.outside)};
}

std::vector<std::string> basis_texts(const Interval& interval) {
  return {"The interval is computed from the errors of predicted collectives and kernels that were published, and of " +
          interval.basis + "."};
}

bool is_searched(const CaseResult& item) {
  return item.interval->setting.plan.starts_with("search");
}

// Notes on orders that another seed of planner `search`, or another order of tables in the workload, may turn round.
NoteList search_notes(const StudyResult& study) {
  const auto named = [&](const std::string& name) -> const CaseResult& { return study.case_named(name); };
  NoteList list;
  for (const Choice& choice : study.choices) {
    const CaseResult& chosen = named(choice.chosen);
    const double spread = search_spread(chosen.interval->setting.tables);
    std::vector<std::string> near;
    for (const Choice::Other& other : choice.others) {
      const CaseResult& second = named(other.name);
      const double lead = second.iteration_ms / chosen.iteration_ms - 1;
      if (is_searched(chosen) != is_searched(second) && lead < spread)
        near.push_back(fmt::format("{} ({:.1f} %)", other.name, 100 * lead));
    }
    if (near.empty()) continue;
    list.notes.push_back(
        {fmt::format(
             "Its lead over {} is no lead of one planner over the other: plans of 'search' differ by up to {:.0f} % "
             "with the seed of the scenario and with the order of tables in the workload.",
             join(near), 100 * spread),
         choice.chosen});
  }
  return list;
}

// The cluster of a case, with what the study says was fitted of it.
ComparedCluster compared_cluster(const StudyResult& study, const CaseResult& item) {
  ComparedCluster cluster{item.cluster, item.interval->setting.nodes > 1, {}};
  const std::string owner = item.cluster + ": ";
  for (SourcedValue value : study.fitted) {
    if (!value.path.starts_with(owner)) continue;
    value.path.erase(0, owner.size());
    cluster.fitted.push_back(std::move(value));
  }
  return cluster;
}

// The clusters that a workload is run on, by workload.
std::map<std::string, std::vector<ComparedCluster>> compared_clusters(const StudyResult& study) {
  std::map<std::string, std::vector<ComparedCluster>> clusters;
  for (const CaseResult& item : study.cases)
    if (item.interval) clusters[item.workload].push_back(compared_cluster(study, item));
  return clusters;
}

// Notes on the evidence for the clusters that a workload is run on.
NoteList evidence_notes(const StudyResult& study) {
  NoteList list;
  for (const auto& [workload, of_workload] : compared_clusters(study))
    for (const std::string& text : unlike_evidence(of_workload))
      if (std::ranges::find(list.notes, text, &NoteList::Note::text) == list.notes.end())
        list.notes.push_back({text, ""});
  return list;
}

bool trains_as_fast(const StudyResult& study, const MachineOrder& order) {
  const auto rate_of = [&](const std::string& name) { return study.case_named(name).samples_per_s; };
  return is_equal({std::log(rate_of(order.faster) / rate_of(order.than)), 0, 0});
}

// The most samples per second on each machine, pair by pair.
Sheet machines_sheet(const StudyResult& study, bool few) {
  Sheet sheet;
  sheet.columns = {{"more samples per second", false, true}, {"than", false, true}, {"chance %"}};
  const std::size_t shown = few ? std::min(kFewChoices, study.machines.size()) : study.machines.size();
  for (std::size_t i = 0; i < shown; ++i) {
    const MachineOrder& order = study.machines[i];
    sheet.rows.push_back(
        {{order.faster, order.than, trains_as_fast(study, order) ? kEqual : chance_cell(order.chance)}, false});
  }
  return sheet;
}

void add_machines(Section& section, const StudyResult& study, bool few) {
  if (study.machines.empty()) return;
  section.blocks.emplace_back(table_section("Between machines",
                                            "The fastest case on each cluster beside that on the next one, on "
                                            "average over where hot rows may lie. chance: the probability that it "
                                            "really trains more samples per second, leaving out errors that affect "
                                            "both; equal: the two differ by less than a ten-thousandth.",
                                            machines_sheet(study, few)));
}

// Cases that differ in their clusters alone, and come out equal.
NoteList alike_notes(const StudyResult& study) {
  std::vector<TimeOnCluster> times;
  for (const CaseResult& item : study.cases) {
    if (!item.interval) continue;
    const IterationSetting& setting = item.interval->setting;
    times.push_back({item.cluster, setting.transport,
                     fmt::format("{}\n{}\n{}\n{}\n{}", item.workload, item.world_size, item.batch_per_gpu,
                                 setting.software, setting.plan),
                     item.iteration_ms, item.interval->is_set_by_host()});
  }
  NoteList list;
  for (std::string& text : alike_clusters(times)) list.notes.push_back({std::move(text), ""});
  return list;
}

bool take_as_long(const StudyResult& study, const std::string& one, const std::string& other) {
  const CaseResult &first = study.case_named(one), &second = study.case_named(other);
  return is_equal(difference_of(first.iteration_ms, *first.interval, second.iteration_ms, *second.interval));
}

// Says that plans take as long because one host sets their time; "" where it does not.
std::string one_host_sentence(const StudyResult& study, const Choice& choice) {
  const auto set_by_host = [&](const std::string& name) { return study.case_named(name).interval->is_set_by_host(); };
  std::vector<std::string> equal;
  for (const Choice::Other& other : choice.others)
    if (set_by_host(other.name) && take_as_long(study, choice.chosen, other.name)) equal.push_back(other.name);
  if (equal.empty() || !set_by_host(choice.chosen)) return "";
  return fmt::format("{} and {} take as long: the same host sets the time of each.", choice.chosen,
                     equal.size() == 1 ? equal.front() : fmt::format("{} other plans", equal.size()));
}

// Returns why the first of two that take as long is the one to choose, as order_key() sees it.
std::string why_first(const StudyResult& study, const std::string& one, const std::string& other) {
  const CaseResult &first = study.case_named(one), &second = study.case_named(other);
  if (first.interval->high_ms < second.interval->high_ms)
    return fmt::format("; the range of {} ends lower", first.name);
  return memory_need(first).judged() < memory_need(second).judged() ? fmt::format("; {} needs less memory", first.name)
                                                                    : "";
}

}  // namespace

std::string order_sentence(const StudyResult& study, bool of_first_alone) {
  constexpr double kTellingOrder = 1e-4;  // of a rate: less is the same in a table
  for (const WorkloadCases& group : by_workload(study)) {
    std::vector<const CaseResult*> cases = group.cases;
    std::erase_if(cases, [](const CaseResult* each) { return !fits(*each) || is_without_limit(*each); });
    for (auto first = cases.begin(); first != cases.end(); ++first) {
      const CaseResult& told_fastest = **std::max_element(
          first, cases.end(), [](const auto* a, const auto* b) { return a->samples_per_s < b->samples_per_s; });
      if (told_fastest.samples_per_s > (1 + kTellingOrder) * (*first)->samples_per_s)
        return order_text(**first, told_fastest, !is_one_choice(group));
      if (of_first_alone) break;
    }
  }
  return "";
}

std::string evidence_sentence(const StudyResult& study) {
  for (const auto& [workload, of_workload] : compared_clusters(study))
    if (std::string text = unlike_evidence_in_short(of_workload); !text.empty()) return text;
  return "";
}

std::string doubt_sentence(const StudyResult& study) {
  std::vector<const Interval*> intervals;
  for (const CaseResult& item : study.cases)
    if (item.interval) intervals.push_back(&*item.interval);
  return doubt_sentence(intervals, "more under How sure");
}

// The k-th of n values in order has a further one below it with the chance k / (n + 1).
FourInFive four_in_five(const std::vector<double>& drawn) {
  if (drawn.size() < 2) return {quantile(drawn, 0), quantile(drawn, 1)};
  const auto count = static_cast<double>(drawn.size());
  const double outside = std::max(0.0, ((count + 1) * (1 - kCoverage) / 2 - 1) / (count - 1));
  return {quantile(drawn, outside), quantile(drawn, 1 - outside)};
}

Section how_sure_section(const StudyResult& study, Medium medium) {
  const bool terminal = medium == Medium::terminal;
  const bool judged = !published_iterations(study).empty();  // then the cases are of many studies, and no choices
  Section section{"How sure", {}};
  if (!study.choices.empty() && !(terminal && judged)) {
    section = table_section(
        "How sure",
        "chance: the probability that the chosen plan is really faster, leaving out errors that affect both. "
        "expected regret: how much time the choice loses on average over all outcomes; where it is the "
        "faster one, that is nothing.",
        choices_sheet(study, terminal));
    if (terminal && study.choices.size() > kFewChoices)
      section.blocks.emplace_back(
          Paragraph{fmt::format("{} more choices are in the report.", study.choices.size() - kFewChoices)});
  }
  if (!judged) {
    for (NoteList list : {order_notes(study), search_notes(study), evidence_notes(study), alike_notes(study)})
      if (!list.notes.empty()) section.blocks.emplace_back(std::move(list));
  }
  for (NoteList list :
       {placement_notes(study), grouped_notes(study, outside_texts), grouped_notes(study, basis_texts)}) {
    if (terminal && judged) list.notes.resize(std::min<std::size_t>(list.notes.size(), kFewChoices));
    if (!list.notes.empty()) section.blocks.emplace_back(std::move(list));
  }
  if (!judged) add_machines(section, study, terminal);
  section.folded = judged;
  return section;
}

std::string other_cell(const StudyResult& study, const Choice& choice, const Choice::Other& other) {
  return take_as_long(study, choice.chosen, other.name) ? kEqual : chance_cell(other.chance);
}

bool chosen_is_as_fast(const StudyResult& study) {
  if (study.choices.size() != 1) return false;
  const Choice& choice = study.choices.front();
  return take_as_long(study, choice.chosen, choice.others.front().name);
}

std::string choice_sentence(const StudyResult& study) {
  if (study.choices.size() != 1) return "";
  const Choice& choice = study.choices.front();
  const Choice::Other& next = choice.others.front();
  if (std::string host = one_host_sentence(study, choice); !host.empty()) return host;
  if (take_as_long(study, choice.chosen, next.name))
    return fmt::format("{} and {} take as long{}.", choice.chosen, next.name,
                       why_first(study, choice.chosen, next.name));
  const Choice::Other& doubtful = *std::ranges::min_element(choice.others, {}, &Choice::Other::chance);
  const std::string than = doubtful.chance < next.chance ? fmt::format(", and than {} only with {} %", doubtful.name,
                                                                       chance_cell(doubtful.chance))
                                                         : "";
  return fmt::format(
      "{} is faster than {} with a probability of {} %{}; choosing it costs {} % on average compared with always "
      "choosing the faster one{}.",
      choice.chosen, next.name, chance_cell(next.chance), than, regret_cell(doubtful.regret_pct),
      than.empty() ? "" : fmt::format(" of it and {}", doubtful.name));
}

}  // namespace shardsim
