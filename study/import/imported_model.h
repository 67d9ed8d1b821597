#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/tree/tree.h"
#include "models/workload/workload.h"

namespace shardsim {

// A table as a file of somebody else says it.
struct ImportedTable {
  Table table;                       // labels are ours: what they may not hold is "_"
  std::string known_as;              // its name in the file; "" where that is the table's own
  std::vector<std::string> assumed;  // of "dtype", "kind", "pooling_factor", "access": what the file does not say
};

// A model that is to become a workload.
struct ImportedModel {
  std::string source;  // the file's path as given
  std::vector<ImportedTable> tables;
  std::vector<std::string> left_out;  // columns of the file that say nothing to a simulation
  std::optional<Tree> plan;           // in the shape of a plan file; table names as in the file
};

// A CSV of tables (docs/import.md has the columns). The delimiter is the one of comma, semicolon, tab and bar that the
// header has most of. Errors (Failure::input, with line and column): missing, repeated and misspelt columns, numbers
// with separators, units or signs, a table without length, two tables of one name.
ImportedModel model_from_csv(std::string_view text, const std::string& source);

// TorchRec's table configurations, and a plan beside them or alone (docs/import.md has the shape). Errors
// (Failure::input, with the line): types that no table here has, a table that the plan alone knows and whose size it
// does not say, features and pooling factors that differ in number.
ImportedModel model_from_torchrec(const Tree& tree, const std::string& source);

// A plan of TorchRec in the shape of a plan file, {"plan": {MODULE: {TABLE: ENTRY}}}: what `plan._serialize()` returns,
// or `dataclasses.asdict(plan)`, whose shards stand in `sharding_spec`; with or without the outer "plan".
// Errors (Failure::input, with the line): anything else.
Tree plan_from_torchrec(const Tree& tree);

// Adds the tables that the plan alone knows, as far as its shards say how large they are: pooled, with one id a sample.
// Errors (Failure::input): a replicated table, whose size it does not say.
void add_tables_of_plan(ImportedModel& model);

// The name as a label of ours; `known_as` gets the old one where it differs. Errors (Failure::input): it is empty, or
// longer than 256.
std::string imported_label(const std::string& name, const Place& place, std::string* known_as = nullptr);

struct PlacedFeature {
  Feature feature;
  Place place;
};

// The features of a table. Errors (Failure::input, at the second): two of one name.
void set_features(Table& table, std::vector<PlacedFeature> features);

// "DataType.FP16", "torch.float16", "half" ... Errors (Failure::input): a type that tables here cannot have.
Dtype imported_dtype(const std::string& text, const Place& place);

// Refuses a model without tables, with over 100,000, and two tables of one name: Failure::input.
void check_tables(const ImportedModel& model);

// True when a key is there and not null, as Python writes None.
bool is_given(const Tree* tree);

// A word in lower case, with "_" for blanks and hyphens.
std::string imported_word(std::string_view text);

}  // namespace shardsim
