#pragma once

#include <doctest/doctest.h>

#include <string>

#include "tests/base/error_text.h"
#include "tests/validate/execute/sample_programs.h"

namespace shardsim::sample {

// The message with which the fusions of a program are refused; empty where they are not.
inline std::string fusion_fault(const Program& program) {
  return input_error_of([&] { fusions(program); });
}

// One line that names an operation and holds the part.
inline bool names_operation(const std::string& message, const std::string& part) {
  INFO(message);
  return message.starts_with("here: operation ") && message.find(part) != std::string::npos &&
         message.find('\n') == std::string::npos;
}

}  // namespace shardsim::sample
