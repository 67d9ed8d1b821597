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

// A case with a preset of software in place of that which it has, as the scenario would be read with its name.
Case with_software(Case item, const Software& preset);

// Refuses names of planner, models, network and algorithms that no table knows, and options that they do not have.
void validate_names(const Case& item);
// The same for the planner alone. For planners that come from `planners: all`, the worker reports missing options
// instead.
void validate_planner(const Case& item);

// The `published` list of a case (docs/formats/scenario.md). Units follow from the quantity: times in ms, rows
// as a count, coverage and throughput_gain in %. Errors: Failure::input.
std::vector<Published> read_published(const Tree& list);

// Returns the planners that a map of a planner names for some of the tables (`tables` of per_table, `pooled` of
// FlexShard), as maps with `name`; each with the planner itself in front. Empty for null.
std::vector<Tree*> planners_within(Tree& planner);
std::vector<const Tree*> planners_within(const Tree& planner);

// TorchRec's rules of memory (`variant`, `rules`, `run_embedding_at_peak_memory`) are options of its planner and of its
// memory model. An option that one of the two states holds for both, so that a plan is judged as it was made; also of a
// planner that another one asks for some tables. Does nothing where either is another one, or null. Errors
// (Failure::input): both say it, and not the same.
void share_torchrec_rules(Tree& planner, Tree& memory_model);

// The scenario's key `cross_check`. Errors: Failure::input for unknown keys and impossible values.
CrossCheckOptions read_cross_check(const Tree& map);

}  // namespace shardsim
