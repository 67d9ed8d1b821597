#include "python/core/study_run.h"

#include <algorithm>
#include <filesystem>
#include <set>

#include "base/files.h"
#include "base/result_folder.h"
#include "base/text.h"
#include "program/timeline/timeline_file.h"
#include "python/core/watch.h"
#include "study/report/documents/result_document.h"
#include "study/report/documents/result_json.h"
#include "study/run/study.h"

namespace shardsim::python {
namespace {

Scenario with_cases(Scenario scenario, const std::vector<std::string>& patterns) {
  if (patterns.empty()) return scenario;
  std::vector<std::string> names;
  for (const Case& item : scenario.cases) names.push_back(item.name);
  std::set<std::string> wanted;
  for (const std::string& pattern : patterns) {
    const std::vector<std::size_t> fitting = fitting_names(names, pattern);
    if (fitting.empty())
      throw input_error({"cases"}, "no case fits " + excerpt(pattern), known_names_hint(pattern, names));
    for (const std::size_t index : fitting) wanted.insert(names[index]);
  }
  scenario.keep([&](const Case& item) { return wanted.contains(item.name); });
  return scenario;
}

TimelineFile timelines_of(const StudyResult& study) {
  TimelineFile file;
  file.scenario_text = study.scenario_text;
  file.seed = study.seed;
  file.version = study.version;
  for (const CaseResult& result : study.cases)
    file.cases.push_back({result.name, &result.timeline, result.rank_times.empty() ? nullptr : &result.rank_times});
  return file;
}

}  // namespace

StudyResult run_request(const Request& request, const std::vector<std::string>& cases, int jobs,
                        const std::function<void(int done, int total)>& progress) {
  WorkerOptions workers;
  if (jobs > 0) workers.jobs = jobs;
  workers.progress = progress;
  workers.interrupted = interrupted_in_python();
  return run_study(with_cases(*request.scenario(), cases), workers);
}

std::string write_study(const StudyResult& study, const std::string& folder, bool force) {
  const std::filesystem::path target = folder;
  write_folder(target, {"shardsim run", force}, [&](const std::filesystem::path& hidden) {
    write_file(hidden / "report.html", report_html(study));
    write_file(hidden / "result.json", result_to_json(study));
    write_timelines(hidden / "timeline.h5", timelines_of(study));
  });
  return (target / "report.html").string();
}

}  // namespace shardsim::python
