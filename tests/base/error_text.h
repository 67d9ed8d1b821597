#pragma once

#include <doctest/doctest.h>

#include <string>

#include "base/error.h"

namespace shardsim {

// The message of the Error that `action` throws; empty when it throws none. What else it throws passes.
template <typename Action>
std::string error_of(const Action& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

// The same of an Error that is of the input, and of nothing else.
template <typename Action>
std::string input_error_of(const Action& action) {
  try {
    action();
  } catch (const Error& error) {
    CHECK(error.failure() == Failure::input);
    return error.what();
  }
  return "";
}

inline bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// One line that holds the part; another text is told.
inline bool says(const std::string& message, const std::string& part) {
  const bool found = has(message, part) && !has(message, "\n");
  if (!found) MESSAGE("message: ", message);
  return found;
}

}  // namespace shardsim
