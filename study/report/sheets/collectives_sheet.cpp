#include <fmt/format.h>

#include <algorithm>

#include "base/document/cells.h"
#include "base/text.h"
#include "program/program.h"
#include "study/report/case_groups.h"
#include "study/report/sheets/result_sheets.h"

namespace shardsim {
namespace {

constexpr std::size_t kFewWaits = 6;  // collectives of which it is said whom they wait for

// Cases of each workload whose collectives a terminal shows where there are many.
std::size_t few_cases(const StudyResult& study) {
  return has_very_many_cases(study) ? 1 : 3;
}

Sheet::Row collective_row(const NamedTime& time, int places) {
  return {{time.name, std::to_string(time.calls), fixed(time.alone_ms, places), fixed(time.span_ms, places),
           fixed(time.exposed_ms, places), fixed(time.waiting_ms, places),
           grouped_decimals(static_cast<double>(time.bytes_per_rank) / 1e6)},
          false};
}

// The collectives of the `most` fastest cases of each workload.
Sheet collectives_sheet(const StudyResult& study, std::size_t most) {
  Sheet sheet;
  sheet.columns = {{"collective", false}, {"calls"},      {"alone ms"},  {"in run ms"},
                   {"exposed ms"},        {"waiting ms"}, {"MB per GPU"}};
  const int places = decimals_for(longest_iteration_ms(study) / 10);  // collectives are parts of an iteration
  for (const CaseResult* item : all_cases(study, most)) {
    sheet.rows.push_back({{item->name}, false});
    for (const NamedTime& time : item->times) {
      if (is_communication(time.op_class)) sheet.rows.push_back(collective_row(time, places));
    }
    if (sheet.rows.back().is_heading(sheet)) sheet.rows.pop_back();
  }
  return sheet;
}

// A GPU leaves an uneven call when its own bytes have moved, and another one is the slowest in the next call.
std::string early_leavers_legend(const StudyResult& study, std::size_t most) {
  constexpr double kTelling = 0.999;
  for (const CaseResult* item : all_cases(study, most))
    for (const NamedTime& time : item->times)
      if (is_communication(time.op_class) && time.span_ms < kTelling * time.alone_ms)
        return " in run may be less than alone: alone counts each call until its slowest GPU is done, in run the calls "
               "of a single GPU.";
  return "";
}

// A line for each of their collectives whose exposed time is waiting to a telling part, with whom it waits for.
std::vector<std::string> waiting_lines(const StudyResult& study, std::size_t most) {
  const int places = decimals_for(longest_iteration_ms(study) / 10);
  std::vector<std::string> lines;
  for (const CaseResult* item : all_cases(study, most))
    for (const NamedTime& time : item->times)
      if (time.waits_tellingly(item->iteration_ms))
        lines.push_back(fmt::format("{}, {}: {}", item->name, time.name, waiting_text(time, places)));
  return lines;
}

// MB per GPU over the time alone may be more than a NIC carries, which looks like a mistake where nobody says why.
std::string rails_legend(const StudyResult& study) {
  const bool across = std::ranges::any_of(study.cases, [](const CaseResult& item) {
    const Timeline& timeline = item.timeline;
    return timeline.ranks_per_node > 0 && timeline.world_size > timeline.ranks_per_node &&
           std::ranges::any_of(item.times, [](const NamedTime& time) { return time.op_class == "all_to_all"; });
  });
  return across ? " These bytes may take less time than one NIC needs for them: those inside a node do not cross it, "
                  "and with PXN those to other nodes leave through all NICs of the node."
                : "";
}

}  // namespace

std::string waiting_text(const NamedTime& time, int places) {
  const NamedTime::WaitedFor& whom = time.waited_for;
  std::string text =
      fmt::format("{} of {} ms exposed is waiting", fixed(time.waiting_ms, places), fixed(time.exposed_ms, places));
  if (whom.rank < 0) return text;
  const bool all = fixed(whom.ms, places) == fixed(time.waiting_ms, places);
  text += fmt::format("{} for rank {}", all ? "" : fmt::format(", {} of it", fixed(whom.ms, places)), whom.rank);
  if (whom.operation.empty()) return text;
  return text + (whom.operation == time.name ? ", the previous " : ", ") + whom.operation;
}

Section collectives_section(const StudyResult& study, Medium medium) {
  const bool many = has_many_cases(study), few = many && medium == Medium::terminal;
  const std::size_t most = few ? few_cases(study) : study.cases.size();
  Section section = table_section(
      "Collectives",
      "alone: the time that all calls would take if nothing else ran. in run: the time that they take in the "
      "iteration, on the GPU where that is longest. exposed: the time in which a GPU communicates and computes "
      "nothing, mean over the GPUs; where several collectives run at once, it counts for the one that ends last. "
      "waiting: the part of exposed in which some GPU of the group has not arrived yet; in the rest, bytes move. MB "
      "per GPU: max(sent, received) on the busiest GPU, local part included; for an all-reduce, its buffer size." +
          rails_legend(study) + early_leavers_legend(study, most),
      collectives_sheet(study, most));
  const std::vector<std::string> lines = waiting_lines(study, most);
  for (std::size_t i = 0; i < std::min(lines.size(), kFewWaits); ++i) section.blocks.emplace_back(Paragraph{lines[i]});
  if (lines.size() > kFewWaits)
    section.blocks.emplace_back(Paragraph{
        fmt::format("{} more collectives wait for other ranks; result.json names the ranks that they wait for.",
                    lines.size() - kFewWaits)});
  section.remark = !few        ? "per iteration"
                   : most == 1 ? "per iteration, of the fastest case of each workload"
                               : fmt::format("per iteration, of the {} fastest cases of each workload", most);
  section.folded = many;
  return section;
}

bool has_dense_operators(const StudyResult& study) {
  return std::ranges::any_of(study.cases, [](const CaseResult& item) { return item.dense_operators.has_value(); });
}

Section dense_operators_section(const StudyResult& study) {
  Sheet sheet;
  sheet.columns = {{"operator", false}, {"calls"}, {"kernels"}, {"GPU ms"}, {"host ms"}};
  const int places = decimals_for(longest_iteration_ms(study) / 100);  // operators are small parts of an iteration
  for (const CaseResult* item : all_cases(study, has_many_cases(study) ? 1 : study.cases.size())) {
    if (!item->dense_operators) continue;
    sheet.rows.push_back({{item->name}, false});
    for (const DenseOperatorTime& time : *item->dense_operators)
      sheet.rows.push_back({{time.op, fixed(time.calls, 0), fixed(time.kernels, 0), fixed(time.gpu_ms, places),
                             fixed(time.host_ms, places)}});
  }
  return table_section(
      "Dense part by operator",
      "The operators of PyTorch in an iteration of rank 0. GPU: the sum of their kernels, each alone on "
      "its GPU. host: the time to launch them, which passes while the GPU works.",
      sheet);
}

// A row for each case, a column for each class that one of them has.
Section operator_classes_section(const StudyResult& study) {
  const std::vector<const CaseResult*> cases = all_cases(study, has_many_cases(study) ? 1 : study.cases.size());
  std::vector<std::string> names;
  for (const CaseResult* item : cases) {
    if (!item->operator_classes) continue;
    for (const OperatorClassTime& time : *item->operator_classes)
      if (std::ranges::find(names, time.name) == names.end()) names.push_back(time.name);
  }
  Sheet sheet;
  sheet.columns = {{"case", false}};
  for (const std::string& name : names) sheet.columns.push_back({name});
  const int places = decimals_for(longest_iteration_ms(study) / 100);
  for (const CaseResult* item : cases) {
    if (!item->operator_classes) continue;
    std::vector<std::string> cells = {item->name};
    for (const std::string& name : names) {
      const auto found = std::ranges::find(*item->operator_classes, name, &OperatorClassTime::name);
      cells.push_back(found == item->operator_classes->end() ? "" : fixed(found->gpu_ms, places));
    }
    sheet.rows.push_back({std::move(cells)});
  }
  return table_section("GPU time by class of operators",
                       "ms of the kernels of an iteration of rank 0, each alone on its GPU, without exchanges: what a "
                       "profiler's trace is "
                       "summed up to by the operators that launch its kernels. Casts count with the operator that "
                       "needs them, gradients of tables with updates.",
                       sheet);
}

}  // namespace shardsim
