#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/tree/tree.h"
#include "models/workload/workload.h"
#include "study/import/plan_world.h"

namespace shardsim {

// A table as a file of somebody else says it.
struct ImportedTable {
  Table table;
  std::string known_as;              // its name in the file; "" where that is the table's own
  std::vector<std::string> assumed;  // of "dtype", "kind", "sequence", "access" and such: what the file does not say

  const std::string& name_there() const { return known_as.empty() ? table.name : known_as; }
};

// A model that is to become a workload.
struct ImportedModel {
  std::string source;  // the file's path as given
  std::vector<ImportedTable> tables;
  std::vector<std::string> left_out;   // columns of the file that say nothing to a simulation
  std::optional<Tree> plan;            // in the shape of a plan file; table names as in the file
  std::vector<std::string> told = {};  // sentences about what the file says otherwise, or is not simulated
  std::string pipeline = {};           // as the file tells it; "": it does not
  std::string cache_policy = {};       // as well
  std::map<std::string, std::string> constraints = {};  // of a scenario, by table: the text of its map
  PlanWorld world = {};                                 // of `plan`
  std::optional<std::int64_t> batch = {};               // samples per GPU, where the file says them
  int ranks = 0;                                        // of the job, where the file says them
};

// A CSV of tables (docs/import.md has the columns). The delimiter is the one of comma, semicolon, tab and bar that the
// header has most of. Errors (Failure::input, with line and column): missing, repeated and misspelt columns, numbers
// with separators, units or signs, a table without length, two tables of one name.
ImportedModel model_from_csv(std::string_view text, const std::string& source);

// TorchRec's table configurations, and a plan beside them or alone (docs/import.md has the shape). Errors
// (Failure::input, with the line): types that no table here has, a table that the plan alone knows and whose size it
// does not say, features and pooling factors that differ in number.
ImportedModel model_from_torchrec(const Tree& tree, const std::string& source);

// Gives the model a plan of TorchRec: {"plan": {MODULE: {TABLE: ENTRY}}}, with or without the outer "plan", as
// `plan._serialize()` returns it, or `dataclasses.asdict(plan)`, whose shards stand in `sharding_spec`; or HugeCTR's,
// which names tables by number. Tables that the plan alone knows are added, as far as its shards say how large they
// are: pooled, with one id a sample. Errors (Failure::input, with the place): anything else; a replicated table whose
// size nobody says.
void take_plan(ImportedModel& model, const Tree& tree);

// The plan in the shape of a plan file. A name that several modules have becomes MODULE.TABLE. The model gets what the
// plan says beside placements: the pipeline and the caches that it asks for, and what is not taken of it.
Tree plan_from_torchrec(const Tree& tree, ImportedModel& model);

// The constraints of a planner (ParameterConstraints by table) as those of a scenario, for models without a plan; what
// is not taken is told.
void take_constraints(ImportedModel& model, const Tree& constraints);

// True for a plan file of HugeCTR's embedding collections: for each GPU a list of parts, each with its tables' numbers.
bool is_hugectr_plan(const Tree& tree);
// The same placement of the model's tables in the shape of a plan file. Errors (Failure::input, with the place).
Tree plan_from_hugectr(const Tree& tree, ImportedModel& model);

// The statistics that TorchRec's planner prints: configurations with a plan, and what they say of the job.
struct PrintedStatistics {
  Tree model;
  std::optional<std::int64_t> batch = {};  // samples per GPU
  int ranks = 0;                           // 0: the table of ranks is not there
};

// Reads what TorchRec prints: a plan as print(plan) or repr writes it (in the shape of a plan), or the statistics of
// its planner. Nothing where the text is neither. Errors (Failure::input, with line and column): it ends early; shards
// by rank without tables; several plans that differ.
std::optional<Tree> printed_plan(std::string_view text, const std::string& source);
std::optional<PrintedStatistics> printed_statistics(std::string_view text, const std::string& source);

// The name of a table, a feature or a module, as the file has it. Errors (Failure::input): a workload cannot have it.
std::string checked_name(const std::string& name, const Place& place);

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

// "ShardingType.ROW_WISE" and "row_wise" are the same: enums become the one where str() writes them.
std::string enum_word(const Tree& tree, std::string_view what);

// The kernel of today for one of 2022, "batched_fused" for one; any other as it is.
std::string kernel_of_today(const std::string& kernel);

// Takes maps in the shape of TorchRec's CacheParams, by table: which ask for the pipeline that prefetches, which for
// caches of the rows that are used most, and which for what is not simulated.
class CacheParameters {
 public:
  // `has_cache`: of the table's kernel; params may be null.
  void add(const Tree* params, const std::string& table, bool has_cache);
  void tell(ImportedModel& model) const;

 private:
  std::vector<std::string> prefetch_, lfu_, lru_;
  std::map<std::string, std::vector<std::string>> not_simulated_;  // keys with their tables
};

// The key of an entry of a plan, while it is read, that says which type the vectors of the table have.
inline constexpr const char* kReturnedType = "output_dtype";

// Lookups return vectors of this type ("DataType.FP16"), and so they are exchanged, with their gradients, unless the
// table has a type already. What is to be told of it: "" for fp32, which they return unless something else is stated.
std::string take_returned_type(Table& table, const Tree& type);

// A word in lower case, with "_" for blanks and hyphens; of a member of an enumeration as repr writes it, its name.
std::string imported_word(std::string_view text);

}  // namespace shardsim
