#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/workload/workload.h"

namespace shardsim {

// The parts of read_workload, for its own files only. Errors: Failure::input with place.

// One entry of `tables`: `copies` equal tables.
std::vector<Table> read_tables_entry(MapReader reader, const std::string& folder);

// The dense part; `tables` say what its interaction works on.
DensePart read_dense(MapReader reader, const std::vector<Table>& tables);

// The dtype at `key`, or nothing when the key is absent.
std::optional<Dtype> read_dtype(MapReader& reader, std::string_view key);

// A real above 0.
double read_positive(MapReader& reader, std::string_view key);
double read_positive(MapReader& reader, std::string_view key, double fallback);

// [A-Za-z0-9_.-]+, at most 256 characters.
std::string read_label(MapReader& reader, std::string_view key);
void check_label(const std::string& label, const Place& place);

// The name of a file as written: no control characters, not empty.
std::string read_file_name(MapReader& reader, std::string_view key);

}  // namespace shardsim
