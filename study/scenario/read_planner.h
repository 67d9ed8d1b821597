#pragma once

#include <string>
#include <vector>

#include "base/tree/map_reader.h"
#include "study/scenario/case_trees.h"
#include "study/scenario/scenario.h"

namespace shardsim {

// Who makes the plan of a case: the keys `planner` and `plan`, and the rules about memory that a planner brings along.

// Returns the map of a key whose `name` says which planner or model it is. Errors: Failure::input for anything else.
Tree model_map(MapReader& reader, const char* key);

// The file of `plan`.
std::string read_plan_file_name(MapReader& reader);

// Reads the one of the two keys that a case has. Errors: Failure::input for both and for neither.
void read_planner(MapReader& reader, const CaseTree& tree, Case& item);

// Shares TorchRec's rules between the planner of a case and its memory model. Planners that are compared are judged by
// one memory model: none of them brings rules into it. Errors: those of share_torchrec_rules(); a planner of several
// that states rules.
void share_rules(const CaseTree& tree, Case& item);

// Returns the planners that a map of a planner names for some of the tables (`tables` of per_table, `pooled` of
// FlexShard), as maps with `name`; each with the planner itself in front. Empty for null.
std::vector<Tree*> planners_within(Tree& planner);
std::vector<const Tree*> planners_within(const Tree& planner);

// TorchRec's rules of memory (`variant`, `rules`, `run_embedding_at_peak_memory`) are options of its planner and of its
// memory model. An option that one of the two states holds for both, so that a plan is judged as it was made; also of a
// planner that another one asks for some tables. Does nothing where either is another one, or null. Errors
// (Failure::input): both say it, and not the same.
void share_torchrec_rules(Tree& planner, Tree& memory_model);

}  // namespace shardsim
