#pragma once

#include <pybind11/pybind11.h>
#include <sys/types.h>
#include <unistd.h>

#include <functional>

#include "base/workers.h"

namespace shardsim::python {

namespace py = pybind11;

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

}  // namespace shardsim::python
