#include "study/import/traced_step_document.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "base/document/cells.h"
#include "base/text.h"

namespace shardsim {
namespace {

using TracedPhase = TracedStep::Phase;

struct PhaseName {
  TracedPhase phase;
  const char* name;
};
constexpr std::array<PhaseName, 4> kPhases = {{{TracedPhase::lookup, "lookup"},
                                               {TracedPhase::forward, "dense_forward"},
                                               {TracedPhase::backward, "dense_backward, optimizer"},
                                               {TracedPhase::update, "update"}}};

struct Supposition {
  const char* what;
  Seconds saved;
};

// What each instant of the step counts as, over all of its phases.
TracedStep::Part sum_of_parts(const TracedStep& step) {
  TracedStep::Part all;
  for (const auto& [phase, part] : step.parts) {
    all.compute = all.compute + part.compute;
    all.exchange = all.exchange + part.exchange;
    all.copies = all.copies + part.copies;
    all.waiting = all.waiting + part.waiting;
  }
  return all;
}

std::vector<Supposition> suppositions(const TracedModel& traced) {
  const TracedStep& step = traced.step;
  const TracedStep::Part all = sum_of_parts(step);
  const auto kernels = [&](TracedPhase phase) {
    const auto found = step.parts.find(phase);
    return found == step.parts.end() ? Seconds{0} : found->second.compute;
  };
  return {{"the host is never late", traced.waiting_known ? all.waiting : Seconds{0}},
          {"exchanges are free", all.exchange},
          {"copies are free", all.copies},
          {"lookups are free", kernels(TracedPhase::lookup)},
          {"updates are free", kernels(TracedPhase::update)},
          {"the dense optimizer is free", step.optimizer}};
}

std::string part_name(const PhaseName& of, const TracedModel& traced) {
  if (!traced.passes_known && of.phase == TracedPhase::forward) return "dense part, both passes";
  return of.name;
}

// Returns what the shapes tell of batch and tables; "" where the profiler recorded none.
std::string shapes_text(const TracedModel& traced) {
  std::int64_t tables = 0, rows = 0, columns = 0, lookups = 0;
  for (const TracedTables& each : traced.shapes.tables) {
    tables += each.tables;
    rows += each.rows;
    columns += each.columns;
    lookups += each.lookups;
  }
  std::string text;
  if (traced.shapes.batch > 0) text = fmt::format("The batch has {} samples. ", with_thousands(traced.shapes.batch));
  if (tables > 0)
    text += fmt::format("The step looks up {} rows of {}, which have {} rows and {} columns together.",
                        with_thousands(lookups), counted(static_cast<std::size_t>(tables), "table"),
                        with_thousands(rows), with_thousands(columns));
  return text;
}

// The answer: what the step is made of, the most of it first, and what would make it shortest.
std::string answer_text(const TracedModel& traced) {
  const TracedStep& step = traced.step;
  const TracedStep::Part all = sum_of_parts(step);
  const int places = decimals_for(step.length.ms());
  std::vector<std::pair<Seconds, const char*>> parts = {
      {all.compute, "kernels run"},
      {all.exchange, "exchanges run that nothing hides"},
      {all.copies, "memory is copied"},
      {traced.waiting_known ? all.waiting : Seconds{0}, "the GPU waits for its host"}};
  constexpr double kTelling = 0.01;  // of the step
  std::erase_if(parts, [&](const auto& part) { return part.first.value < kTelling * step.length.value; });
  std::ranges::sort(parts, [](const auto& a, const auto& b) { return a.first.value > b.first.value; });
  std::string text = fmt::format("The step takes {} ms", fixed(step.length.ms(), places));
  for (std::size_t i = 0; i < parts.size(); ++i)
    text += fmt::format("{} for {} ms ({:.0f} %) {}",
                        i == 0                  ? ":"
                        : i + 1 == parts.size() ? ", and"
                                                : ",",
                        fixed(parts[i].first.ms(), places), 100 * parts[i].first.value / step.length.value,
                        parts[i].second);
  const std::vector<Supposition> all_suppositions = suppositions(traced);
  const auto most =
      std::ranges::max_element(all_suppositions, {}, [](const Supposition& each) { return each.saved.value; });
  if (most->saved.value < kTelling * step.length.value) return text + ".";
  return text + fmt::format(". If {}, it takes {} ms.", most->what, fixed((step.length - most->saved).ms(), places));
}

}  // namespace

Document traced_step_document(const TracedModel& traced) {
  const TracedStep& step = traced.step;
  const int places = decimals_for(step.length.ms());
  const auto ms = [&](Seconds time) { return fixed(time.ms(), places); };
  const auto percent = [&](Seconds time) { return fixed(100 * time.value / step.length.value, 1); };
  Document document{fmt::format("{}: a step of {} ms", printable(traced.path), ms(step.length)), "", {}};
  document.blocks.emplace_back(Paragraph{answer_text(traced), Paragraph::Role::summary});
  Sheet parts;
  parts.columns = {{"part", false},
                   {"all ms"},
                   {"%"},
                   {"waiting ms"},
                   {"kernels ms"},
                   {"exchanges ms"},
                   {"copies ms", true, false, true}};
  for (const PhaseName& of : kPhases) {
    const auto found = step.parts.find(of.phase);
    if (found == step.parts.end()) continue;
    const TracedStep::Part& part = found->second;
    parts.rows.push_back({{part_name(of, traced), ms(part.all()), percent(part.all()), ms(part.waiting),
                           ms(part.compute), ms(part.exchange), ms(part.copies)}});
  }
  document.add(table_section(
      "Where the step goes",
      fmt::format(
          "The median of {} ({} to {} ms); {} left out as warm-up. Each instant counts once: as a kernel, else as "
          "a copy, else as an exchange, which nothing hides then, else as waiting for the host, each before what "
          "runs next. The profiler makes the host slower than it is without.",
          counted(traced.steps, "step"), ms(traced.shortest), ms(traced.longest), counted(traced.left_out, "step")),
      parts));
  Sheet kernels;
  kernels.columns = {{"kernels of the dense part", false}, {"number"}, {"GPU ms"}, {"%"}};
  for (const TracedKernels& each : traced.kernels)
    kernels.rows.push_back({{each.kind.empty() ? "of unknown names" : each.kind, std::to_string(each.count),
                             ms(each.time), percent(each.time)}});
  if (!kernels.rows.empty())
    document.add(table_section("The dense part by kind of kernel",
                               "By their names; kernels that run beside each other count each.", kernels));
  Sheet help;
  help.columns = {{"if", false}, {"step ms"}, {"shorter by %"}};
  for (const Supposition& each : suppositions(traced))
    if (each.saved.value > 0) help.rows.push_back({{each.what, ms(step.length - each.saved), percent(each.saved)}});
  document.add(table_section("What would help",
                             "The step without the time that counts for it, where all else stays as it was. Behind a "
                             "host that is late, faster kernels only wait longer, which these figures leave out.",
                             help));
  Section notes{"Notes", {}};
  NoteList list;
  for (const std::string& note : traced.notes) list.notes.push_back({note, ""});
  if (const std::string text = shapes_text(traced); !text.empty()) list.notes.push_back({text, ""});
  if (!list.notes.empty()) {
    notes.blocks.emplace_back(std::move(list));
    document.add(std::move(notes));
  }
  return document;
}

std::string traced_step_json(const TracedModel& traced) {
  nlohmann::ordered_json json = {{"schema", "shardsim.why_trace/1"},
                                 {"trace", traced.path},
                                 {"device", traced.device},
                                 {"world_size", traced.world_size},
                                 {"steps", traced.steps},
                                 {"left_out", traced.left_out},
                                 {"step_ms", traced.step.length.ms()},
                                 {"shortest_ms", traced.shortest.ms()},
                                 {"longest_ms", traced.longest.ms()}};
  for (const PhaseName& of : kPhases) {
    const auto found = traced.step.parts.find(of.phase);
    if (found == traced.step.parts.end()) continue;
    const TracedStep::Part& part = found->second;
    json["parts"].push_back({{"part", part_name(of, traced)},
                             {"kernels_ms", part.compute.ms()},
                             {"exchanges_ms", part.exchange.ms()},
                             {"copies_ms", part.copies.ms()},
                             {"waiting_ms", part.waiting.ms()}});
  }
  for (const TracedKernels& each : traced.kernels)
    json["kernels"].push_back({{"kind", each.kind}, {"number", each.count}, {"gpu_ms", each.time.ms()}});
  for (const TracedTables& each : traced.shapes.tables)
    json["tables"].push_back({{"tables", each.tables},
                              {"bags", each.bags},
                              {"lookups", each.lookups},
                              {"rows", each.rows},
                              {"columns", each.columns},
                              {"weighted", each.weighted},
                              {"sequence", each.sequence}});
  json["batch"] = traced.shapes.batch;
  json["notes"] = traced.notes;
  for (const Supposition& each : suppositions(traced))
    json["help"].push_back({{"if", each.what}, {"step_ms", (traced.step.length - each.saved).ms()}});
  return json.dump(1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace shardsim
