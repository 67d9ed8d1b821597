// All that Python sees of the libraries are few functions, of plain values. The package shardsim (python/shardsim)
// makes of them what people use.

#include "base/files.h"
#include "python/core/bindings.h"
#include "python/core/request.h"

namespace shardsim::python {

py::object interval_dict(const std::optional<Interval>& interval) {
  if (!interval) return py::none();
  py::dict range;
  range["low_ms"] = interval->low_ms;
  range["high_ms"] = interval->high_ms;
  range["coverage"] = interval->coverage;
  range["outside"] = interval->outside;
  return range;
}

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

Request request_of(std::shared_ptr<ScenarioText> source, std::vector<std::pair<std::string, std::string>> set,
                   std::optional<std::uint64_t> seed, bool torchrec_only, std::vector<std::string> planners) {
  Overrides changes;
  changes.set = std::move(set);
  changes.seed = seed;
  changes.torchrec_only = torchrec_only;
  changes.planners = std::move(planners);
  return {std::move(source), std::move(changes)};
}

std::vector<std::string> case_names(const Request& request) {
  std::vector<std::string> names;
  for (const Case& item : request.scenario()->cases) names.push_back(item.name);
  return names;
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
  bind_study(module);
  bind_evaluator(module);
  bind_rater(module);
  bind_machine(module);
  bind_sweep(module);
  bind_questions(module);
  bind_import(module);
  bind_loaded_plan(module);
}

}  // namespace
}  // namespace shardsim::python
