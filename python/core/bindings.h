#pragma once

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>
#include <sys/types.h>
#include <unistd.h>

#include <functional>
#include <optional>
#include <vector>

#include "base/workers.h"
#include "study/confidence/interval.h"

namespace shardsim::python {

namespace py = pybind11;

// The parts of the module: each adds its functions and classes, whose words python/shardsim/_core.pyi has.
void bind_evaluator(py::module_& module);
void bind_import(py::module_& module);
void bind_loaded_plan(py::module_& module);
void bind_machine(py::module_& module);
void bind_questions(py::module_& module);
void bind_rater(py::module_& module);
void bind_study(py::module_& module);
void bind_sweep(py::module_& module);

// True when Python has a signal to deal with, Ctrl-C as a rule; the exception of its handler is then set, and stays set
// until the call returns to Python. In a forked process always false: there is no interpreter that runs.
inline std::function<bool()> interrupted_in_python() {
  return [owner = ::getpid()] {
    if (::getpid() != owner) return false;
    const py::gil_scoped_acquire gil;
    return PyErr_Occurred() != nullptr || PyErr_CheckSignals() != 0;
  };
}

// Runs `work` while other threads of Python run. An interruption becomes the exception that the signal's handler has
// set, KeyboardInterrupt as a rule.
template <typename Work>
auto without_gil(const Work& work) {
  try {
    const py::gil_scoped_release released;
    return work();
  } catch (const Interrupted&) {
    if (PyErr_Occurred() == nullptr) PyErr_SetNone(PyExc_KeyboardInterrupt);
    throw py::error_already_set();
  }
}

template <typename T>
py::array_t<T> array_of(const std::vector<T>& values) {
  return py::array_t<T>(static_cast<py::ssize_t>(values.size()), values.data());
}

// None without an interval.
py::object interval_dict(const std::optional<Interval>& interval);

}  // namespace shardsim::python
