#pragma once

#include <regex>
#include <string>

namespace shardsim::testing {

// A message whose places in JSON have their lines alone: FILE.json:LINE:COLUMN becomes FILE.json:LINE. For tests that
// ask for the line of a value, wherever on it the value stands; columns are those of tests/base/tree/json_test.cpp.
inline std::string without_columns(const std::string& message) {
  static const std::regex place("(\\.json:[0-9]+):[0-9]+: ");
  return std::regex_replace(message, place, "$1: ");
}

}  // namespace shardsim::testing
