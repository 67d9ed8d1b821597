#include <filesystem>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/result_folder.h"
#include "python/core/bindings.h"
#include "study/import/import_request.h"

namespace shardsim::python {
namespace {

// `shardsim import`: the texts of the files.
struct ImportAnswer {
  ModelFiles files;
  std::vector<std::string> assumed;

  // Returns the path of the scenario. Errors: those of write_folder().
  std::string write(const std::string& folder, bool force) const;
};
std::string ImportAnswer::write(const std::string& folder, bool force) const {
  write_folder(folder, {"shardsim import", force},
               [this](const std::filesystem::path& hidden) { files.write(hidden); });
  return (std::filesystem::path(folder) / "scenario.yaml").string();
}

ImportAnswer import_answer(const ImportRequest& request) {
  const auto [model, setting] = imported(request);
  return {model_files(model, setting), assumptions(model, setting)};
}

}  // namespace

void bind_import(py::module_& module) {
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
      "model_assumptions",
      [](const std::vector<std::pair<std::string, std::vector<std::string>>>& tables, bool dense, bool optimizer,
         bool pipeline, bool host) {
        std::vector<ImportedTable> made(tables.size());
        for (std::size_t i = 0; i < tables.size(); ++i) std::tie(made[i].table.name, made[i].assumed) = tables[i];
        return model_assumptions(made, {dense, optimizer, pipeline, host});
      },
      py::arg("tables"), py::arg("dense"), py::arg("optimizer"), py::arg("pipeline"), py::arg("host"));
  module.def(
      "imported", [](const ImportRequest& request) { return without_gil([&] { return import_answer(request); }); },
      py::arg("request"));
}

}  // namespace shardsim::python
