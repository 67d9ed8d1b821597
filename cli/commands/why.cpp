#include <filesystem>

#include "base/files.h"
#include "base/result_folder.h"
#include "cli/commands/all.h"
#include "cli/commands/shared.h"
#include "study/import/traced_step_document.h"
#include "study/notes/notes.h"
#include "study/report/documents/result_json.h"
#include "study/report/page.h"
#include "study/run/explained_case.h"
#include "study/why/why_document.h"

namespace shardsim {
namespace {

constexpr const char* kWhyPage = "why.html";
constexpr const char* kWhyJson = "why.json";

void check_answer(const Arguments& given) {
  if (given.has("output")) check_results(output_folder(given, "why", {}), result_writer(given), {kWhyPage, kWhyJson});
}

// Writes and prints an answer; `document` is as a page has it, `shown` as a terminal does.
void give_answer(const Arguments& given, const Terminal& terminal, const std::string& json, const Document& document,
                 const Document& shown) {
  if (given.has("output")) {
    write_folder(output_folder(given, "why", {}), result_writer(given), [&](const std::filesystem::path& hidden) {
      write_file(hidden / kWhyJson, json);
      write_file(hidden / kWhyPage, page_html(document));
    });
  }
  print_result(given.has("json") ? json : shown_text(shown, given, terminal, 2));
}

int explain_trace(const Arguments& given, const Terminal& terminal) {
  const Progress progress = progress_of(given, "reading the trace");
  if (!given.positional().empty())
    throw input_error(Arguments::place("trace"), "there is a scenario, too", "Name one of the two");
  given.refuse_beside("trace", {"case", "path-only", "set", "seed", "torchrec-only", "memory-model"});
  check_answer(given);
  const TracedModel traced = traced_model(read_kineto_trace(std::filesystem::path(given.text("trace"))));
  const Document document = traced_step_document(traced);
  give_answer(given, terminal, traced_step_json(traced), document, document);
  return 0;
}

int explain_time(const Arguments& given, const Terminal& terminal) {
  if (given.has("trace")) return explain_trace(given, terminal);
  if (given.positional().empty())
    throw input_error(Arguments::place("SCENARIO"), "nothing is named whose time could be explained",
                      "Name a scenario file, or a profiler's trace with --trace");
  const Progress progress = progress_of(given, "planning and simulating, what would help included");
  const Scenario scenario = asked_scenario(given);
  const Case& item = chosen_case(scenario, given);
  check_answer(given);
  for (const std::string& note : notes_for(Asker::why, {item})) print_note(note);
  const ExplainedCase explained = explained_case(scenario, item, !given.has("path-only"), {terminal.interrupted, {}});
  for (const std::string& note : explained.notes) print_note(note);
  const auto document = [&](Medium medium) {
    Document of = why_document(explained.why, explained.help ? &*explained.help : nullptr, item.name, medium);
    of.origin = scenario.path;
    return of;
  };
  give_answer(given, terminal, why_json(explained, scenario, item), document(Medium::page), document(Medium::terminal));
  return 0;
}

}  // namespace

Command why_command() {
  return {
      .name = "shardsim why",
      .summary = "show where the time of an iteration goes: its critical path, by operation and by table",
      .positionals = {{"SCENARIO", "A scenario file.", true}},
      .options = std::vector{case_option(),
                             Option{"trace", 0, "FILE",
                                    "Instead of a scenario, explain the median step of this profiler's trace "
                                    "(Kineto, .json or .json.gz)."},
                             Option{"output", 'o', "DIR", "Also write why.json and why.html into this folder."},
                             force_option(),
                             Option{"path-only", 0, "",
                                    "Show only the critical path, and not which changes would help: those take "
                                    "about thirty simulations."},
                             Option{"json", 0, "", "Print one JSON document instead of tables."}, details_option()} +
                 scenario_options(),
      .examples = {"shardsim why scenarios/toy.yaml --case row_wise",
                   "shardsim why scenarios/flexshard.yaml --case rm1/flexshard_3tier --json",
                   "shardsim why --trace trace.json.gz"},
      .run = explain_time};
}

}  // namespace shardsim
