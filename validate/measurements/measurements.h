#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "validate/measurements/measured_row.h"

namespace shardsim {

// Measured rows and what their readers have to tell.
struct Measurements {
  std::vector<MeasuredRow> rows;
  std::vector<std::string> notes;  // columns and lines that were left out

  void append(Measurements more);
};

// What the user says of a run of nccl-tests whose output does not say it.
struct RunHints {
  std::string system;                  // "": the file's name without its ending
  std::optional<CollectiveKind> kind;  // the last resort: used where neither output nor file name says it
};

// The kind by our name or by that of nccl-tests ("alltoall", "all_reduce_perf"); none for uneven exchanges (alltoallv).
std::optional<CollectiveKind> find_collective_kind(std::string_view name);

// Table of the columns in docs/formats.md. Errors (Failure::input, file and line): a missing column, a cell that is no
// number, a size of 0 or of 2^53 and more, a time of 0, an unknown collective, ranks that are not nodes x GPUs. Rows
// whose bandwidth and time contradict each other by more than 5 % are noted.
Measurements read_measurement_csv(std::string_view text, const std::string& source);

// Output of an nccl-tests program (NVIDIA/nccl-tests src/util.cu): columns are found by the header line; logs without
// root column, with a blank redop and with N/A in place are read too, other lines passed over.
// Errors (Failure::input, file and line): no table, a row that does not fit its header, a cell that is no number, a
// collective that nothing names.
Measurements read_nccl_tests_text(std::string_view text, const std::string& source, const RunHints& hints);

// The same run as nccl-tests writes it with -J (file versions 1 to 3).
Measurements read_nccl_tests_json(std::string_view text, const std::string& source, const RunHints& hints);

// A file of one of the three forms, by what it holds; or all .csv, .json, .log, .out and .txt files of a folder, in
// order of their names. Errors: as above; a folder without such files.
Measurements read_measurements(const std::string& path, const RunHints& hints);

}  // namespace shardsim
