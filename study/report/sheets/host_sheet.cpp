#include <fmt/format.h>

#include <algorithm>

#include "base/document/cells.h"
#include "study/report/case_groups.h"
#include "study/report/sheets/result_sheets.h"
#include "study/result/case_figures.h"

namespace shardsim {
namespace {

constexpr double kTellingLever = 10;  // % of the iteration: what is worth a sentence of advice

std::string deduplication_lever(const CaseResult& item, const std::string& name) {
  if (!item.iteration_ms_without_duplicates) return "";
  const double with = *item.iteration_ms_without_duplicates, saved = 100 * (1 - with / item.iteration_ms);
  if (saved < kTellingLever) return "";
  return fmt::format(
      "With 'index_dedup: true' in the workload, an option of TorchRec's sequence modules, {} would take {} ms, {:.0f} "
      "% less, with its plan kept; planned anew it may take less.",
      name, fixed(with, decimals_for(with)), saved);
}

// Says which plan index_dedup would make the fastest instead of `best`; "" where it would change nothing of the order.
std::string order_lever(const WorkloadCases& group, const CaseResult& best) {
  constexpr double kTellingLead = 0.01;
  const CaseResult* first = &best;
  for (const CaseResult* const item : group.cases)
    if (fits(*item) && !is_without_limit(*item) && differ_in_plans_alone(*item, best) &&
        fair_ms(*item) < (1 - kTellingLead) * fair_ms(*first))
      first = item;
  if (first == &best) return "";
  const double with = fair_ms(*first);
  return fmt::format(
      "With 'index_dedup: true' (TorchRec sends equal ids once) {} is the fastest of these plans: {} ms; "
      "planned anew it may take less.",
      first->name, fixed(with, decimals_for(with)));
}

std::string host_lever(const CaseResult& item, const std::string& name) {
  if (!item.host || !waits_for_eager_host(item)) return "";
  return fmt::format(
      "For {:.0f} % of {} a GPU only waits for its host: no machine and no plan helps as much as '--set software={}' "
      "may.",
      waiting_percent(item), name, item.host->with_graph);
}

}  // namespace

double waiting_percent(const CaseResult& item) {
  return item.timeline.iteration_ms > 0 ? 100 * item.host->waits_for_host_ms / item.timeline.iteration_ms : 0;
}

bool waits_for_eager_host(const CaseResult& item) {
  return !item.host->with_graph.empty() && waiting_percent(item) >= kTellingLever;
}

std::string modules_warning(const StudyResult& study) {
  constexpr double kTellingMore = 5;  // % of the iteration
  for (const WorkloadCases& group : by_workload(study)) {
    const CaseResult* const best = fastest_that_fits(group);
    if (best == nullptr || !best->iteration_ms_with_modules_apart) continue;
    const double with = *best->iteration_ms_with_modules_apart, more = 100 * (with / best->iteration_ms - 1);
    if (more < kTellingMore) continue;
    return fmt::format(
        "Sequences of several dimensions are one module here. TorchRec has one for each, with which {} takes {} ms, "
        "{:.0f} % more: 'modules: {{exchanges: each}}' in the workload.",
        study.cases.size() == 1 ? "the iteration" : best->name, fixed(with, decimals_for(with)), more);
  }
  return "";
}

std::string levers_text(const StudyResult& study) {
  const std::vector<WorkloadCases> groups = by_workload(study);
  if (groups.empty()) return "";
  const CaseResult* const best = fastest_that_fits(groups.front());
  if (best == nullptr) return "";
  const std::string name = study.cases.size() == 1 ? "the iteration" : best->name;
  std::string ids = order_lever(groups.front(), *best);
  if (ids.empty()) ids = deduplication_lever(*best, name);
  const std::string host = host_lever(*best, name);
  return ids.empty() || host.empty() ? ids + host : ids + " " + host;
}

namespace {

constexpr std::size_t kFewHosts = 20;     // all of them are told
constexpr double kTellingHostWait = 0.5;  // % of the iteration; what is less is shown as 0

std::vector<const CaseResult*> with_host(const StudyResult& study) {
  std::vector<const CaseResult*> cases = all_cases(study, study.cases.size());
  std::erase_if(cases, [](const CaseResult* item) { return !item->host; });
  return cases;
}

Sheet host_sheet(const std::vector<const CaseResult*>& cases, int places) {
  Sheet sheet;
  sheet.columns = {{"case", false, true}, {"software", false}, {"host ms"}, {"waits ms"}, {"%"}, {"rank"}};
  for (const CaseResult* const item : cases) {
    const HostFigures& host = *item->host;
    sheet.rows.push_back(
        {{item->name, host.software, fixed(host.busy_ms, places), fixed(host.waits_for_host_ms, places),
          fixed(waiting_percent(*item), 0), std::to_string(host.rank)},
         false});
  }
  return sheet;
}

// Returns a text about the cases that the table of many leaves out.
std::string others_text(std::size_t hosts, std::size_t waiting, std::size_t shown) {
  std::string text;
  if (waiting > shown) text = fmt::format("{} more cases wait less; they are in the report. ", waiting - shown);
  if (waiting < hosts)
    text += fmt::format("In {} of {} cases the GPU does not wait for the host (less than {} % of the iteration).",
                        hosts - waiting, hosts, kTellingHostWait);
  return text;
}

// Where the host is what an iteration waits for, nothing on a list of hardware helps as much as other software.
std::string software_lever(const std::vector<const CaseResult*>& cases) {
  const CaseResult* worst = nullptr;
  for (const CaseResult* const item : cases) {
    if (waits_for_eager_host(*item) && (worst == nullptr || waiting_percent(*item) > waiting_percent(*worst)))
      worst = item;
  }
  if (worst == nullptr) return "";
  return fmt::format(
      "{}: for {:.0f} % of the iteration a GPU has nothing to do but to wait for its host, which no faster GPU, "
      "network or plan shortens. '--set software={}' simulates the same software with a CUDA graph, whose kernels are "
      "also fewer and faster, so that it may gain more than a host that is free ('shardsim why').",
      worst->name, waiting_percent(*worst), worst->host->with_graph);
}

}  // namespace

Section host_section(const StudyResult& study, Medium medium) {
  std::vector<const CaseResult*> cases = with_host(study);
  const std::size_t hosts = cases.size();
  const bool many = hosts > kFewHosts;
  if (many) {
    std::erase_if(cases, [](const CaseResult* item) { return waiting_percent(*item) < kTellingHostWait; });
    std::ranges::stable_sort(cases, std::greater{}, [](const CaseResult* item) { return waiting_percent(*item); });
  }
  const std::size_t waiting = cases.size();
  if (many && medium == Medium::terminal && waiting > kFewHosts) cases.resize(kFewHosts);
  Section section = table_section("Host",
                                  "host: time in which the host launches, reads and calls. waits: time in which the "
                                  "compute stream of the GPU is idle while the host launches, until the launch of its "
                                  "next operation ends; %: of the iteration. All for the rank that waits longest.",
                                  host_sheet(cases, decimals_for(longest_iteration_ms(study))));
  if (const std::string lever = software_lever(cases); !lever.empty()) section.blocks.emplace_back(Paragraph{lever});
  if (!many) return section;
  if (!cases.empty()) section.remark = "those that wait for it, worst first";
  const std::string others = others_text(hosts, waiting, cases.size());
  if (!others.empty()) section.blocks.emplace_back(Paragraph{others});
  return section;
}

}  // namespace shardsim
