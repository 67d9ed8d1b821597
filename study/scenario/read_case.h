#pragma once

#include "study/scenario/case_trees.h"
#include "study/scenario/scenario.h"

namespace shardsim {

// `seed`: the scenario's. Errors: Failure::input with place, for any key of the case and of its cluster and workload.
Case read_case(const CaseTree& tree, std::uint64_t seed);
// The same in parts: cases that differ in few keys share what is read of the others. The tree of the last one needs
// neither `cluster` nor `workload`.
ClusterSpec read_case_cluster(const CaseTree& tree);
Workload read_case_workload(const CaseTree& tree);
Case read_case(const CaseTree& tree, std::uint64_t seed, ClusterSpec cluster, Workload workload);
// Reads keys of the top level that every case replaces as a case would, each by itself, so that what nobody uses is not
// nonsense. Errors: those of read_case() and validate_names() that concern one key.
void check_replaced(const Tree& keys);
// One that is as `before` but for its name and planner (CaseTree::again).
Case read_again(const CaseTree& tree, Case before);

// Refuses names of planner, models, network and algorithms that no table knows, and options that they do not have.
void validate_names(const Case& item);
// The same for the planner alone. For planners that come from `planners: all`, the worker reports missing options
// instead.
void validate_planner(const Case& item);

// The `published` list of a case (docs/formats/scenario.md). Units follow from the quantity: times in ms, rows
// as a count, coverage and throughput_gain in %. Errors: Failure::input.
std::vector<Published> read_published(const Tree& list);

// The scenario's key `cross_check`. Errors: Failure::input for unknown keys and impossible values.
CrossCheckOptions read_cross_check(const Tree& map);

}  // namespace shardsim
