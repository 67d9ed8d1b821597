#pragma once

#include <string>

#include "base/error.h"

namespace shardsim {

// The message of the Error that `action` throws; empty when it throws none. `what` else it throws passes.
template <typename Action>
std::string error_of(const Action& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

inline bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace shardsim
