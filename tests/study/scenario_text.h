#pragma once

#include <doctest/doctest.h>

#include <string>

#include "base/error.h"
#include "study/scenario/scenario.h"
#include "tests/base/error_text.h"

namespace shardsim::test {

inline const std::string kFolder = SHARDSIM_SOURCE_DIR "/scenarios/";

inline Scenario read(const std::string& text, const Overrides& overrides = {}) {
  return scenario_from_text(text, kFolder + "test.yaml", overrides);
}

// The reader's error for the text, on one line; "" when it takes the text.
inline std::string scenario_error(const std::string& text, const Overrides& overrides = {}) {
  try {
    read(text, overrides);
  } catch (const Error& error) {
    CHECK(error.failure() == Failure::input);
    CHECK(std::string(error.what()).find('\n') == std::string::npos);
    return error.what();
  }
  return "";
}

inline Overrides set(const std::string& path, const std::string& value, const std::string& only = "") {
  Overrides overrides;
  overrides.set.emplace_back(path, value);
  if (!only.empty()) overrides.only_cases = {only};
  return overrides;
}

}  // namespace shardsim::test
