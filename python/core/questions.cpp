#include "python/core/questions.h"

#include <filesystem>

#include "base/result_folder.h"
#include "python/core/watch.h"
#include "study/drift/drift_study.h"
#include "study/notes/notes.h"
#include "study/report/answer_json.h"
#include "study/report/drift_document.h"
#include "study/run/explained_case.h"
#include "study/why/why_document.h"

namespace shardsim::python {
namespace {

PlanWatch watched_by_python() {
  return {interrupted_in_python(), {}};
}

}  // namespace

Answer why_answer(const Request& request, const std::string& case_name, bool path_only) {
  const ChosenCase chosen = chosen_case(request, case_name);
  const ExplainedCase explained = explained_case(chosen.scenario, chosen.item(), !path_only, watched_by_python());
  std::vector<std::string> notes = notes_for(Asker::why, {chosen.item()});
  notes.insert(notes.end(), explained.notes.begin(), explained.notes.end());
  const auto document = [&](Medium medium) {
    Document of = why_document(explained.why, explained.help ? &*explained.help : nullptr, chosen.item().name, medium);
    of.origin = chosen.scenario.path;
    return of;
  };
  return {why_json(explained, chosen.scenario, chosen.item()), std::move(notes), document(Medium::terminal),
          document(Medium::page)};
}

Answer drift_answer(const Request& request, const std::string& case_name, int jobs) {
  const ChosenCase chosen = chosen_case(request, case_name);
  const DriftOptions options = drift_options(request.text, request.path, request.changes);
  WorkerOptions workers;
  if (jobs > 0) workers.jobs = jobs;
  workers.interrupted = interrupted_in_python();
  const DriftResult result = drift_study(chosen.scenario, chosen.item(), options, workers);
  return {drift_json(result, options, chosen.scenario), notes_for(Asker::drift, {chosen.item()}),
          drift_document(result, options, chosen.scenario, Medium::terminal),
          drift_document(result, options, chosen.scenario, Medium::page)};
}

Checked check_answer(const Request& request) {
  return checked_scenario(request.text, request.path, request.changes, watched_by_python());
}

Coverage confidence_answer() {
  return coverage_of(ErrorModel(shipped_residuals()));
}

std::string ImportAnswer::write(const std::string& folder, bool force) const {
  write_folder(folder, {"shardsim import", force},
               [this](const std::filesystem::path& hidden) { files.write(hidden); });
  return (std::filesystem::path(folder) / "scenario.yaml").string();
}

ImportAnswer import_answer(const ImportRequest& request) {
  const auto [model, setting] = imported(request);
  return {model_files(model, setting), assumptions(model, setting)};
}

}  // namespace shardsim::python
