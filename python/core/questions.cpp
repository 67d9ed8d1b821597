#include <memory>
#include <string>
#include <vector>

#include "base/document/document.h"
#include "python/core/bindings.h"
#include "python/core/request.h"
#include "study/confidence/coverage.h"
#include "study/drift/drift_study.h"
#include "study/notes/notes.h"
#include "study/report/documents/drift_document.h"
#include "study/report/documents/result_json.h"
#include "study/report/page.h"
#include "study/run/explained_case.h"
#include "study/sweep/checked_scenario.h"
#include "study/why/why_document.h"

namespace shardsim::python {
namespace {

PlanWatch watched_by_python() {
  return {interrupted_in_python(), {}};
}

// The answer to a question in the forms that its command has.
struct Answer {
  std::string json;
  std::vector<std::string> notes;
  Document terminal, page;
};

// `shardsim why`. Errors: those of explained_case().
Answer why_answer(const Request& request, const std::string& case_name, bool path_only) {
  const ChosenCase chosen = chosen_case(request, case_name);
  const ExplainedCase explained = explained_case(*chosen.scenario, chosen.item(), !path_only, watched_by_python());
  std::vector<std::string> notes = notes_for(Asker::why, {chosen.item()});
  notes.insert(notes.end(), explained.notes.begin(), explained.notes.end());
  const auto document = [&](Medium medium) {
    Document of = why_document(explained.why, explained.help ? &*explained.help : nullptr, chosen.item().name, medium);
    of.origin = chosen.scenario->path;
    return of;
  };
  return {why_json(explained, *chosen.scenario, chosen.item()), std::move(notes), document(Medium::terminal),
          document(Medium::page)};
}

// `shardsim drift`. Errors: those of drift_options() and drift_study().
Answer drift_answer(const Request& request, const std::string& case_name, int jobs) {
  const ChosenCase chosen = chosen_case(request, case_name);
  const DriftOptions options = drift_options(request.text(), request.path(), request.changes());
  WorkerOptions workers;
  if (jobs > 0) workers.jobs = jobs;
  workers.interrupted = interrupted_in_python();
  const DriftResult result = drift_study(*chosen.scenario, chosen.item(), options, workers);
  return {drift_json(result, options, *chosen.scenario), notes_for(Asker::drift, {chosen.item()}),
          drift_document(result, options, *chosen.scenario, Medium::terminal),
          drift_document(result, options, *chosen.scenario, Medium::page)};
}

void bind_answers(py::module_& module) {
  py::class_<Answer>(module, "Answer")
      .def_readonly("json", &Answer::json)
      .def_readonly("notes", &Answer::notes)
      .def(
          "text", [](const Answer& answer, int width) { return document_text(answer.terminal, width, false); },
          py::arg("width"))
      .def("html", [](const Answer& answer) { return without_gil([&] { return page_html(answer.page); }); });
  module.def(
      "why",
      [](const Request& request, const std::string& name, bool path_only) {
        return without_gil([&] { return why_answer(request, name, path_only); });
      },
      py::arg("request"), py::arg("case"), py::arg("path_only"));
  module.def(
      "drift",
      [](const Request& request, const std::string& name, int jobs) {
        return without_gil([&] { return drift_answer(request, name, jobs); });
      },
      py::arg("request"), py::arg("case"), py::arg("jobs"));
}

py::dict checked_dict(const Checked& checked) {
  py::dict dict;
  dict["summary"] = checked.summary;
  dict["findings"] = checked.findings;
  dict["notes"] = checked.notes;
  dict["fits"] = checked.failure != Failure::infeasible || checked.findings.empty();
  return dict;
}

py::dict confidence_dict(const Coverage& coverage) {
  py::list kinds, chances;
  for (const CoverageFigures& each : coverage.figures) {
    py::dict of;
    of["kind"] = each.kind;
    of["rows"] = each.rows;
    of["systems"] = each.systems;
    of["held"] = each.held;
    of["held_by_system"] = each.held_by_system;
    of["width"] = each.width;
    kinds.append(of);
  }
  for (const ChanceBin& each : coverage.bins) {
    py::dict of;
    of["least"] = each.from;
    of["most"] = each.upto;
    of["stated"] = each.stated;
    of["pairs"] = each.pairs;
    of["hits"] = each.hits;
    chances.append(of);
  }
  py::dict dict;
  dict["kinds"] = kinds;
  dict["chances"] = chances;
  return dict;
}

}  // namespace

void bind_questions(py::module_& module) {
  bind_answers(module);
  module.def(
      "check",
      [](const Request& request) {
        return checked_dict(without_gil(
            [&] { return checked_scenario(request.text(), request.path(), request.changes(), watched_by_python()); }));
      },
      py::arg("request"));
  module.def("confidence",
             [] { return confidence_dict(without_gil([] { return coverage_of(ErrorModel(shipped_residuals())); })); });
}

}  // namespace shardsim::python
