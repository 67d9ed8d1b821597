// All that Python sees of the libraries are few functions, of plain values. The package shardsim (python/shardsim)
// makes of them what people use.

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include "base/files.h"
#include "python/core/evaluator.h"
#include "python/core/machine.h"
#include "python/core/questions.h"
#include "python/core/rater.h"
#include "python/core/study_run.h"
#include "python/core/sweep_points.h"
#include "python/core/watch.h"
#include "study/report/documents/result_document.h"
#include "study/report/documents/result_json.h"
#include "study/report/page.h"

namespace shardsim::python {
namespace {

// The class of shardsim/errors.py that a failure becomes.
const char* class_of(Failure failure) {
  switch (failure) {
    case Failure::input:
      return "InputError";
    case Failure::infeasible:
      return "InfeasibleError";
    case Failure::tolerance:
    case Failure::run:
      break;
  }
  return "RunError";
}

void raise_in_python(const Error& error) {
  const py::object type = py::module_::import("shardsim.errors").attr(class_of(error.failure()));
  const Place& place = error.place();
  const py::object made = type(error.what(), place.source, place.line, place.column);
  PyErr_SetObject(type.ptr(), made.ptr());
}

template <typename T>
py::array_t<T> array_of(const std::vector<T>& values) {
  return py::array_t<T>(static_cast<py::ssize_t>(values.size()), values.data());
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

py::object interval_dict(const std::optional<Interval>& interval) {
  if (!interval) return py::none();
  py::dict range;
  range["low_ms"] = interval->low_ms;
  range["high_ms"] = interval->high_ms;
  range["coverage"] = interval->coverage;
  range["outside"] = interval->outside;
  return range;
}

py::dict figures_dict(const Evaluator::Figures& of) {
  py::dict dict;
  dict["name"] = of.name;
  dict["iteration_ms"] = of.figures.iteration_ms;
  dict["interval"] = interval_dict(of.figures.interval);
  dict["samples_per_s"] = of.figures.samples_per_s;
  dict["world_size"] = of.world_size;
  dict["batch_per_gpu"] = of.batch_per_gpu;
  dict["memory_bytes"] = of.figures.memory_bytes;
  dict["peak_bytes"] = of.figures.peak_bytes;
  dict["memory_capacity_bytes"] = of.figures.memory_capacity;
  dict["limited_by"] = of.figures.limit.what;
  dict["limit_share_pct"] = 100 * of.figures.limit.share;
  dict["beyond_torchrec"] = of.beyond_torchrec;
  return dict;
}

const char* word_of(PointResult::Outcome outcome) {
  switch (outcome) {
    case PointResult::Outcome::ok:
      return "ok";
    case PointResult::Outcome::does_not_fit:
      return "does not fit";
    case PointResult::Outcome::failed:
      return "failed";
    case PointResult::Outcome::died:
      break;
  }
  return "died";
}

py::dict point_dict(const SweepPoints& sweep, const PointResult& of) {
  py::dict values;
  for (const auto& [path, text] : sweep.values(of.point)) values[py::str(path)] = text;
  py::dict dict;
  dict["point"] = of.point;
  dict["values"] = values;
  dict["outcome"] = word_of(of.outcome);
  dict["message"] = of.message;
  const bool ok = of.outcome == PointResult::Outcome::ok;
  dict["iteration_ms"] = ok ? py::cast(of.iteration_ms) : py::none();
  dict["interval"] = ok ? interval_dict(of.interval) : py::none();
  dict["samples_per_s"] = ok ? py::cast(of.samples_per_s) : py::none();
  dict["world_size"] = of.world_size;
  dict["batch_per_gpu"] = of.batch_per_gpu;
  dict["memory_bytes"] = of.memory_bytes;
  dict["peak_bytes"] = of.peak_bytes;
  dict["memory_capacity_bytes"] = of.memory_capacity;
  dict["limited_by"] = of.limited_by;
  dict["limit_share_pct"] = 100 * of.limit_share;
  dict["beyond_torchrec"] = of.beyond_torchrec;
  dict["cost_per_hour"] = of.cost_per_hour;
  return dict;
}

py::list column_list(const SweepPoints& sweep) {
  py::list columns;
  for (const SweepColumn& column : sweep.columns()) {
    const py::object values = std::visit(
        [](const auto& all) -> py::object {
          using Value = typename std::decay_t<decltype(all)>::value_type;
          if constexpr (std::is_same_v<Value, double>) return array_of(all);
          return py::cast(all);
        },
        column.values);
    columns.append(py::make_tuple(column.name, column.unit, column.meaning, values));
  }
  return columns;
}

Request request_of(std::shared_ptr<ScenarioText> source, std::vector<std::pair<std::string, std::string>> set,
                   std::optional<std::uint64_t> seed, bool torchrec_only, std::vector<std::string> planners) {
  Overrides changes;
  changes.set = std::move(set);
  changes.seed = seed;
  changes.torchrec_only = torchrec_only;
  changes.planners = std::move(planners);
  return {std::move(source), std::move(changes)};
}

// Python's `progress(done, total)`, or nothing. What it raises ends the run.
std::function<void(int, int)> progress_of(const py::object& call) {
  if (call.is_none()) return {};
  return [call](int done, int total) {
    const py::gil_scoped_acquire gil;
    call(done, total);
  };
}

std::vector<std::string> case_names(const Request& request) {
  std::vector<std::string> names;
  for (const Case& item : request.scenario()->cases) names.push_back(item.name);
  return names;
}

void add_study(py::module_& module) {
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

void add_evaluator(py::module_& module) {
  py::class_<Evaluator>(module, "Evaluator")
      .def_static(
          "planned",
          [](const Request& request, const std::string& name) {
            return without_gil([&] { return Evaluator::planned(request, name); });
          },
          py::arg("request"), py::arg("case"))
      .def_static(
          "given",
          [](const Request& request, const std::string& name, const std::string& plan) {
            return without_gil([&] { return Evaluator::given(request, name, plan); });
          },
          py::arg("request"), py::arg("case"), py::arg("plan"))
      .def(
          "figures",
          [](Evaluator& evaluator, const Request& request, const std::string& name) {
            return figures_dict(without_gil([&] { return evaluator.figures(request, name); }));
          },
          py::arg("request"), py::arg("case"))
      .def("own_figures",
           [](Evaluator& evaluator) { return figures_dict(without_gil([&] { return evaluator.figures(); })); })
      .def("plan_json", &Evaluator::plan_json)
      .def("notes", &Evaluator::notes);
}

void add_rater(py::module_& module) {
  py::class_<Rater>(module, "Rater")
      .def(py::init([](const Request& request, const std::string& name) {
             return without_gil([&] { return std::make_unique<Rater>(request, name); });
           }),
           py::arg("request"), py::arg("case"))
      .def("ranks_per_node", &Rater::ranks_per_node)
      .def(
          "iteration_ms",
          [](Rater& rater, std::vector<std::tuple<std::string, std::string, std::string>> entries) {
            std::vector<Rater::Entry> plan;
            for (auto& [path, table, json] : entries)
              plan.push_back({std::move(path), std::move(table), std::move(json)});
            return without_gil([&] { return rater.iteration_ms(plan); });
          },
          py::arg("entries"));
}

py::dict topology_dict(const torchrec::Topology& of) {
  py::dict dict;
  dict["world_size"] = of.world_size;
  dict["local_world_size"] = of.local_world_size;
  dict["compute_device"] = std::string(torchrec::name_of(of.device));
  dict["hbm_cap"] = of.devices.front().hbm;
  dict["ddr_cap"] = of.devices.front().ddr;
  dict["hbm_mem_bw"] = of.hbm_bandwidth;
  dict["ddr_mem_bw"] = of.ddr_bandwidth;
  dict["hbm_to_ddr_mem_bw"] = of.hbm_to_ddr_bandwidth;
  dict["intra_host_bw"] = of.intra_host_bandwidth;
  dict["inter_host_bw"] = of.inter_host_bandwidth;
  return dict;
}

void add_machine(py::module_& module) {
  py::class_<Machine>(module, "Machine")
      .def(py::init([](const Request& request, const std::string& name) {
             return without_gil([&] { return std::make_unique<Machine>(request, name); });
           }),
           py::arg("request"), py::arg("case"))
      .def("topology", [](const Machine& machine) { return topology_dict(machine.topology()); })
      .def("exchange_bytes", &Machine::exchange_bytes)
      .def(
          "collective_ms",
          [](const Machine& machine, const std::string& kind, int per_host, int ranks, std::int64_t bytes) {
            return without_gil([&] { return machine.collective_ms(kind, per_host, ranks, bytes); });
          },
          py::arg("kind"), py::arg("per_host"), py::arg("ranks"), py::arg("bytes"));
}

void add_sweep(py::module_& module) {
  py::class_<SweepPoints>(module, "SweepPoints")
      .def(py::init([](const Request& request, const std::string& name, int jobs) {
             return without_gil(
                 [&] { return std::make_unique<SweepPoints>(request, name, jobs > 0 ? jobs : processors()); });
           }),
           py::arg("request"), py::arg("case"), py::arg("jobs"))
      .def("__len__", &SweepPoints::size)
      .def("next",
           [](SweepPoints& sweep) -> py::object {
             const auto point = without_gil([&] { return sweep.next(); });
             return point ? py::object(point_dict(sweep, *point)) : py::none();
           })
      .def("columns", &column_list)
      .def("csv", &SweepPoints::csv);
}

void add_answer(py::module_& module) {
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

void add_import(py::module_& module) {
  using Shapes = TraceQuestion::Shapes;
  py::class_<ImportRequest>(module, "ImportRequest")
      .def(py::init([] {
        ImportRequest request;
        request.place = [](const std::string& option) { return Place{"argument " + option}; };
        return request;
      }))
      .def_readwrite("files", &ImportRequest::files)
      .def_readwrite("tables", &ImportRequest::tables)
      .def_readwrite("plan", &ImportRequest::plan)
      .def_readwrite("traced_batches", &ImportRequest::traced_batches)
      .def_readwrite("cluster", &ImportRequest::cluster)
      .def_readwrite("planner", &ImportRequest::planner)
      .def_readwrite("nodes", &ImportRequest::nodes)
      .def_readwrite("batch", &ImportRequest::batch)
      .def_readwrite("made_by", &ImportRequest::made_by)
      .def_readwrite("folder", &ImportRequest::folder)
      .def_readwrite("of_traces", &ImportRequest::of_traces)
      .def("take_tables_of_trace",
           [](ImportRequest& request, bool world) { request.tables_of_trace = world ? Shapes::world : Shapes::rank; })
      .def("scale_dense", [](ImportRequest& request, bool kernels) {
        request.scale_dense = kernels ? DenseScale::kernels : DenseScale::nothing;
      });
  py::class_<ImportAnswer>(module, "ImportAnswer")
      .def_property_readonly("scenario", [](const ImportAnswer& answer) { return answer.files.scenario; })
      .def_property_readonly("workload", [](const ImportAnswer& answer) { return answer.files.workload; })
      .def_property_readonly("plan", [](const ImportAnswer& answer) { return answer.files.plan; })
      .def_readonly("assumed", &ImportAnswer::assumed)
      .def(
          "write",
          [](const ImportAnswer& answer, const std::string& folder, bool force) {
            return without_gil([&] { return answer.write(folder, force); });
          },
          py::arg("folder"), py::arg("force"));
  module.def(
      "imported", [](const ImportRequest& request) { return without_gil([&] { return import_answer(request); }); },
      py::arg("request"));
}

void add_questions(py::module_& module) {
  add_answer(module);
  add_import(module);
  module.def(
      "check", [](const Request& request) { return checked_dict(without_gil([&] { return check_answer(request); })); },
      py::arg("request"));
  module.def(
      "check_loaded_plan",
      [](const std::string& plan,
         const std::vector<std::tuple<std::string, std::string, std::string, std::uint64_t, std::int64_t, bool>>& model,
         int world_size) {
        std::vector<ModelTable> tables;
        for (const auto& [path, name, full_name, rows, dim, pooled] : model)
          tables.push_back({path, name, full_name, rows, dim, pooled ? TableKind::pooled : TableKind::sequence});
        return without_gil([&] { return check_loaded_plan(plan, tables, world_size); });
      },
      py::arg("plan"), py::arg("model"), py::arg("world_size"));
  module.def("confidence", [] { return confidence_dict(without_gil([] { return confidence_answer(); })); });
}

// "0.1.0+abc1234": that of the wheel and the Debian package, and behind it the commit, in the order of PEP 440.
std::string package_version() {
  const std::string release = SHARDSIM_RELEASE, commit = version();
  return commit == release ? release : release + "+" + commit;
}

PYBIND11_MODULE(_core, module) {
  module.doc() = "The libraries of shardsim. Use the package shardsim, not this module.";
  module.attr("version") = package_version();
  py::register_exception_translator([](std::exception_ptr thrown) {
    try {
      if (thrown) std::rethrow_exception(thrown);
    } catch (const Error& error) {
      raise_in_python(error);
    }
  });
  py::class_<ScenarioText, std::shared_ptr<ScenarioText>>(module, "ScenarioText")
      .def(py::init<std::string, std::string>(), py::arg("text"), py::arg("path"));
  py::class_<Request>(module, "Request")
      .def(py::init(&request_of), py::arg("source"), py::arg("set"), py::arg("seed"), py::arg("torchrec_only"),
           py::arg("planners"))
      .def("cases", [](const Request& request) { return without_gil([&] { return case_names(request); }); });
  module.def(
      "read_file", [](const std::string& path) { return read_file(path); }, py::arg("path"));
  module.def("data_folder", [] { return data_folder().string(); });
  add_study(module);
  add_evaluator(module);
  add_rater(module);
  add_machine(module);
  add_sweep(module);
  add_questions(module);
}

}  // namespace
}  // namespace shardsim::python
