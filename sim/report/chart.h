#pragma once

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "sim/report/sheet.h"

namespace shardsim {

// Named rows for a chart. A column's unit is in its name (iteration_ms, memory_gib).
struct DataSet {
  using Cell = std::variant<double, std::string>;
  std::string name;
  std::vector<std::string> columns;
  std::vector<std::vector<Cell>> rows;  // one cell per column
};

// One chart of the report: a specification of plots/ and the data it draws.
struct Chart {
  std::string id;    // unique in the report
  std::string plot;  // plots/PLOT.vg.json
  std::string title;
  std::string caption;
  bool folded = false;  // shown on demand
  std::vector<DataSet> data;
};

// The Vega specification with every named data set filled, as JSON text safe inside a script element.
// Data sets of the specification that name no `source` are to be filled. Errors (Failure::run, naming `source`): not
// JSON; a `url` anywhere; values of its own; a data set that the specification names and `sets` lacks, or the reverse;
// a number that is not finite.
std::string fill_chart(std::string_view specification, const std::string& source, const std::vector<DataSet>& sets);

// The same rows for reading.
Sheet sheet_of(const DataSet& set);

}  // namespace shardsim
