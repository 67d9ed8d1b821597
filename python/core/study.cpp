#include "study/run/study.h"

#include <algorithm>
#include <filesystem>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "base/files.h"
#include "base/result_folder.h"
#include "base/text.h"
#include "program/timeline/timeline_file.h"
#include "python/core/bindings.h"
#include "python/core/request.h"
#include "study/report/documents/result_document.h"
#include "study/report/documents/result_json.h"
#include "study/report/page.h"
#include "study/result/result.h"

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

// Every case of the request that one of `cases` fits (all when it is empty), as `shardsim run` has them: result.json,
// the report and the Timelines are the same bytes. Errors: those of run_study(); a pattern that fits none.
StudyResult run_request(const Request& request, const std::vector<std::string>& cases, int jobs,
                        const std::function<void(int done, int total)>& progress) {
  WorkerOptions workers;
  if (jobs > 0) workers.jobs = jobs;
  workers.progress = progress;
  workers.interrupted = interrupted_in_python();
  return run_study(with_cases(*request.scenario(), cases), workers);
}

// Writes report.html, result.json and timeline.h5 into `folder`, as `shardsim run -o` does; `force`: as --force.
// Returns the path of the report. Errors: those of write_folder().
std::string write_study(const StudyResult& study, const std::string& folder, bool force) {
  const std::filesystem::path target = folder;
  write_folder(target, {"shardsim run", force}, [&](const std::filesystem::path& hidden) {
    write_file(hidden / "report.html", report_html(study));
    write_file(hidden / "result.json", result_to_json(study));
    write_timelines(hidden / "timeline.h5", timelines_of(study));
  });
  return (target / "report.html").string();
}

// Python's `progress(done, total)`, or nothing. What it raises ends the run.
std::function<void(int, int)> progress_of(const py::object& call) {
  if (call.is_none()) return {};
  return [call](int done, int total) {
    const py::gil_scoped_acquire gil;
    call(done, total);
  };
}

// One number of each span, as an array.
template <typename T, typename Member>
py::array_t<T> span_column(const Timeline& timeline, Member member) {
  py::array_t<T> column(static_cast<py::ssize_t>(timeline.spans.size()));
  T* at = column.mutable_data();
  for (const Span& span : timeline.spans) *at++ = static_cast<T>(span.*member);
  return column;
}

py::dict timeline_dict(const Timeline& timeline) {
  py::dict spans;
  spans["start_us"] = span_column<double>(timeline, &Span::start_us);
  spans["end_us"] = span_column<double>(timeline, &Span::end_us);
  spans["rank"] = span_column<std::int32_t>(timeline, &Span::rank);
  spans["stream"] = span_column<std::int32_t>(timeline, &Span::stream);
  spans["op"] = span_column<std::int32_t>(timeline, &Span::op);
  spans["iteration"] = span_column<std::int32_t>(timeline, &Span::iteration);
  spans["bytes"] = span_column<std::int64_t>(timeline, &Span::bytes);
  py::list names, classes;
  for (const Timeline::OpInfo& op : timeline.ops) {
    names.append(op.name);
    classes.append(op.op_class);
  }
  py::dict all;
  all["spans"] = spans;
  all["op_names"] = names;
  all["op_classes"] = classes;
  all["streams"] = timeline.streams;
  all["world_size"] = timeline.world_size;
  all["iteration_ms"] = timeline.iteration_ms;
  all["hbm_bytes"] = array_of(timeline.hbm_bytes);
  all["bytes_out"] = array_of(timeline.bytes_out);
  all["bytes_in"] = array_of(timeline.bytes_in);
  return all;
}

const CaseResult& case_named(const StudyResult& study, const std::string& name) {
  for (const CaseResult& result : study.cases)
    if (result.name == name) return result;
  throw py::key_error(name);
}

}  // namespace

void bind_study(py::module_& module) {
  py::class_<StudyResult, std::shared_ptr<StudyResult>>(module, "Study")
      .def("json", [](const StudyResult& study) { return without_gil([&] { return result_to_json(study); }); })
      .def("html", [](const StudyResult& study) { return without_gil([&] { return report_html(study); }); })
      .def(
          "text",
          [](const StudyResult& study, int width) {
            return without_gil([&] { return result_table(study, width, false); });
          },
          py::arg("width"))
      .def(
          "timeline",
          [](const StudyResult& study, const std::string& name) {
            return timeline_dict(case_named(study, name).timeline);
          },
          py::arg("case"))
      .def(
          "write",
          [](const StudyResult& study, const std::string& folder, bool force) {
            return without_gil([&] { return write_study(study, folder, force); });
          },
          py::arg("folder"), py::arg("force"));
  module.def(
      "run",
      [](const Request& request, const std::vector<std::string>& cases, int jobs, const py::object& progress) {
        const auto told = progress_of(progress);
        return without_gil([&] { return std::make_shared<StudyResult>(run_request(request, cases, jobs, told)); });
      },
      py::arg("request"), py::arg("cases"), py::arg("jobs"), py::arg("progress"));
}

}  // namespace shardsim::python
