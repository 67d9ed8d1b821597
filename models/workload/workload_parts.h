#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/fields/fields.h"
#include "models/workload/table_fields.h"
#include "models/workload/workload.h"

namespace shardsim {

// The keys of the parts of a workload, for its own files only: each says them once, for reading, schemas and the tables
// of docs/formats/workload.md. Errors of reading: Failure::input with place.

// Values that the workload states for tables that do not state their own.
struct TableDefaults {
  bool index_dedup = false;  // of sequences
};

// One entry of `tables`: `copies` equal tables. `folder` resolves names of files.
std::vector<Table> read_tables_entry(MapReader reader, const std::string& folder, const TableDefaults& defaults);
Shape tables_shape();

// `wire_dtype` of a table.
void table_wire_keys(Fields& map, Table& table);

// Holds what `access` needs to know of its table. `hottest_first`: row ids are in order of popularity.
struct AccessOf {
  std::uint64_t rows = 1;
  std::string folder;
  bool hottest_first = false;
};
void access_keys(Fields& map, AccessSpec& spec, const AccessOf& of);

// `length_distribution` of a table whose features are read; `bag_ids` of one whose lengths are.
void length_keys(Fields& map, LengthSpec& spec, const std::string& folder, const Table& table);
void bag_ids_key(Fields& map, Table& table);

// `sample_factor` of a workload whose tables are read.
void sample_factor_keys(Fields& map, Workload& workload);

// The dense part; `tables` say what its interaction works on.
void dense_keys(Fields& map, DensePart& dense, const std::vector<Table>& tables);

// Puts the products of the interaction between the bottom layers and those above. Errors
// (Failure::input, at `place`): no vectors, too many columns, a measured rest beside it.
void add_interaction(DensePart& dense, const std::vector<Table>& tables, const Place& place);

// Makes the times those of this batch, along the lines of the parts. Errors (Failure::input, at `place`): it is another
// batch than that of the measurement, and no part says what a sample takes.
void take_measured_at(std::int64_t batch, MeasuredRest& measured, const Place& place);

// When a batch is exchanged and looked up: `pipeline`, `fused_lookup`, `stages`.
void pipeline_keys(Fields& map, Workload& workload);

// Gives attention the variance of its items, by the length laws of its tables. The workload is read.
void vary_attention(Workload& workload);

// Refuses modules of two kinds of tables, and with exchanges of their own those that TorchRec does not have.
void check_module_paths(const Workload& workload);

// The same of gradients that batches add up, and of tables that are not sharded.
void check_gradients(MapReader& reader, const Workload& workload);

// Refuses keys of a workload that cannot be used together, and keys that meet nothing that they are about. The workload
// is read.
void check_combinations(MapReader& reader, const Workload& workload, const TableDefaults& defaults);

inline LeafReader<double> above_zero_leaf() {
  return real_leaf(Bounds::above(0));
}
inline LeafReader<std::int64_t> from_one_leaf() {
  return count_leaf(Bounds::from(1));
}

// The names of layers.
inline constexpr TextRule kLabelRule{"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-",
                                     Bounds::from(1).to(256), "is not a name",
                                     "Use letters, digits, '_', '.' and '-', 1 to 256 of them"};
inline LeafReader<std::string> label_leaf() {
  return text_leaf(kLabelRule);
}

// The name of a file as written: no control characters, not empty.
void file_key(Fields& map, std::string_view key, std::string& file, const char* help);

// A list that must be there while a map is read, in a map where other maps do without it.
inline void require(Fields& map, std::string_view key) {
  if (map.reading()) map.reader().required(key);
}

}  // namespace shardsim
