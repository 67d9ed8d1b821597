#include "cli/commands/plan_answer.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "base/packed.h"
#include "base/text.h"
#include "base/units.h"
#include "base/workers.h"
#include "plan/memory_need.h"
#include "plan/torchrec_types.h"
#include "study/confidence/iteration_judge.h"
#include "study/report/sure_cells.h"
#include "study/result/result_fields.h"
#include "study/run/case_result.h"

namespace shardsim {
namespace {

// The type of each table; "tiers of rows" where one has several.
std::map<std::string, std::size_t> tables_by_type(const PreparedCase& prepared) {
  std::map<int, std::string> type_of;
  for (const Placement& placement : prepared.plan.placements) {
    const Table& table = prepared.item.workload.tables[static_cast<std::size_t>(placement.table)];
    const bool tier = placement.rows() < table.rows;
    type_of[placement.table] = tier ? "in tiers of rows" : std::string(strategy_name(placement.strategy));
  }
  std::map<std::string, std::size_t> tables;
  for (const auto& [table, type] : type_of) ++tables[type];
  return tables;
}

std::string cut_text(const PreparedCase& prepared) {
  std::vector<std::pair<std::size_t, std::string>> types;
  for (const auto& [type, tables] : tables_by_type(prepared)) types.emplace_back(tables, type);
  std::ranges::stable_sort(types, std::greater<>(), &std::pair<std::size_t, std::string>::first);
  std::vector<std::string> parts;
  for (const auto& [tables, type] : types)
    parts.push_back((parts.empty() ? counted(tables, "table") : std::to_string(tables)) + " " + type);
  return join(parts);
}

// In a process of its own, as the simulation of every case.
CaseResult simulated(const PreparedCase& prepared, const Terminal& terminal) {
  const auto task = [&] { return packed(simulated_case(prepared, false)); };
  return unpacked<CaseResult>(run_in_workers({{prepared.item.name, task}}, {1, {}, terminal.interrupted}).front());
}

Interval interval_of(const Case& item, const CaseResult& result) {
  const IterationJudge judge;
  const double batches = result.drawn ? result.drawn->iteration_ms.standard_error / result.iteration_ms : 0;
  return judge.interval(item,
                        {result.iteration_ms, result.timeline, result.path, {batches, result.placement_log_times}});
}

// The time and the peak, or why they are not known.
std::string simulation_text(const PreparedCase& prepared, const Terminal& terminal) {
  const Case& item = prepared.item;
  if (item.job) return "Its iteration depends on the jobs beside it: run the scenario.";
  try {
    const CaseResult result = simulated(prepared, terminal);
    const Interval interval = interval_of(item, result);
    const std::string doubt = doubt_sentence({&interval}, "");
    return fmt::format("An iteration takes {:.4g} ms (80 % within {}); at its peak the fullest GPU holds {} of {}.{}",
                       result.iteration_ms, interval_cell(interval),
                       to_text(Bytes{result.memory_profile.highest().bytes()}), to_text(Bytes{result.memory_capacity}),
                       doubt.empty() ? "" : " " + doubt);
  } catch (const Error& error) {
    return fmt::format("It could not be simulated: {}", error.what());
  }
}

std::string torchrec_text(const PreparedCase& prepared) {
  const Workload& workload = prepared.item.workload;
  const std::string beyond = beyond_torchrec(prepared.plan, workload, row_ranks(workload, prepared.item.cluster));
  if (!beyond.empty()) return fmt::format("TorchRec cannot run it, for it has {}.", beyond);
  return workload.hugectr_rows() ? "" : "TorchRec can run it.";
}

std::string next_text(const PreparedCase& prepared, const std::vector<std::string>& same) {
  std::string words =
      "shardsim why " + shell_word(prepared.scenario.path) + " --case " + shell_word(prepared.item.name);
  for (const std::string& word : same) words += " " + shell_word(word);
  return words;
}

std::string maker_text(const Case& item) {
  const Tree* const name = item.plan_file.empty() ? item.planner.find("name") : nullptr;
  return name == nullptr ? "The plan of the file" : "The plan of " + name->scalar;
}

}  // namespace

std::string plan_answer(const PreparedCase& prepared, const Terminal& terminal, const std::vector<std::string>& same) {
  const Case& item = prepared.item;
  const int width = terminal.width == 0 ? 100 : terminal.width;
  std::string text = wrapped(fmt::format("{} for {} on {}, {} GPUs: {}.", maker_text(item), item.workload.name,
                                         item.cluster.name, prepared.cluster.world_size(), cut_text(prepared)),
                             width, "");
  text += wrapped(simulation_text(prepared, terminal), width, "");
  if (const std::string torchrec = torchrec_text(prepared); !torchrec.empty()) text += wrapped(torchrec, width, "");
  return text + "Next: " + next_text(prepared, same) + "\n";
}

}  // namespace shardsim
