#pragma once

#include <doctest/doctest.h>

#include <string>

#include "base/tree/yaml.h"
#include "models/workload/workload.h"

// Workload files as text, right and wrong.

namespace shardsim {

inline Workload parsed(const std::string& yaml, const std::string& folder = ".") {
  return read_workload(parse_yaml(yaml, "w.yaml"), folder);
}

// A correct workload of one table; lines 1 to 3, the table's keys on line 4, further top-level keys from line 5.
inline std::string one_table(const std::string& table_keys, const std::string& more = "") {
  return "schema: shardsim.workload/1\nname: w\nbatch_per_gpu: 8\ntables: [{" + table_keys + "}]\n" + more;
}

inline const char* const kSequence = "name: t, rows: 100, dim: 4, kind: sequence, average_length: 5";

inline void check_refused(const std::string& yaml, const char* place, const char* fragment) {
  CAPTURE(yaml);
  CHECK_THROWS_WITH_AS(parsed(yaml), doctest::Contains(fragment), Error);
  CHECK_THROWS_WITH_AS(parsed(yaml), doctest::Contains(place), Error);
}

}  // namespace shardsim
