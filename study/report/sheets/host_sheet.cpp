#include <fmt/format.h>

#include <algorithm>

#include "base/document/cells.h"
#include "study/report/case_groups.h"
#include "study/report/sheets/levers.h"
#include "study/report/sheets/result_sheets.h"

namespace shardsim {
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
