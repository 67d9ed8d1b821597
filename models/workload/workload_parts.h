#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/workload/workload.h"

namespace shardsim {

// The parts of read_workload, for its own files only. Errors: Failure::input with place.

// Values that the workload states for tables that do not state their own.
struct TableDefaults {
  bool index_dedup = false;  // of sequences
};

// One entry of `tables`: `copies` equal tables.
std::vector<Table> read_tables_entry(MapReader reader, const std::string& folder, const TableDefaults& defaults);

// `length_distribution` of a table whose features are read. `folder` resolves the name of a file.
LengthSpec read_length_distribution(MapReader reader, const std::string& folder, const Table& table);

// `sample_factor` of a workload whose tables are read.
void read_sample_factor(MapReader& reader, Workload& workload);

// `row_order` and `bag_ids` of a table whose lengths are read.
void read_row_order(MapReader& reader, Table& table);
void read_bag_ids(MapReader& reader, Table& table);

// The dense part; `tables` say what its interaction works on.
DensePart read_dense(MapReader reader, const std::vector<Table>& tables);

// Gives attention the variance of its items, by the length laws of its tables. The workload is read.
void vary_attention(Workload& workload);

// The dtype at `key`, or nothing when the key is absent.
std::optional<Dtype> read_dtype(MapReader& reader, std::string_view key);

// A real above 0.
double read_positive(MapReader& reader, std::string_view key, std::optional<double> fallback = {});

// The names of tables, features and layers.
inline constexpr TextRule kLabelRule{"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-",
                                     Bounds::from(1).to(256), "is not a name",
                                     "Use letters, digits, '_', '.' and '-', 1 to 256 of them"};
std::string read_label(MapReader& reader, std::string_view key);

// The name of a file as written: no control characters, not empty.
std::string read_file_name(MapReader& reader, std::string_view key);

}  // namespace shardsim
