#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/tree/leaf.h"
#include "study/scenario/named_tree.h"
#include "study/scenario/scenario.h"

namespace shardsim {

// One case with every key at its final value, lowest to highest: bases and named files, keys beside `base`, top level,
// the case's keys (each replaces the whole value), the case's `set`, then the command line.
struct CaseTree {
  std::string name;
  Place place, name_place;  // as Case has them
  Tree keys;                // of the top level and of a case; `cluster` and `workload` are whole maps
  std::optional<Tree> job;  // one of several on a fabric: its entry of `jobs`
  std::optional<ComparedPlanner> compared;
  bool changed = false;  // cluster or workload, on the command line
  bool again = false;    // equal to the case before it except for name and planner; `keys` then has only `planner`
};

// The letters that names may be made of; scenario.cpp has what else a name must not be: have over 16 parts, or over 128
// letters in one, or an empty part, "." or "..".
inline constexpr TextRule kJobNameRule{"abcdefghijklmnopqrstuvwxyz0123456789_.-/", Bounds::from(1).to(256),
                                       "is no name of a job",
                                       "At most 16 parts of a-z, 0-9, '_', '.' and '-' joined by '/'",
                                       "(?!(.*/)?(\\.{0,2}(/|$)|[^/]{129}))(?!([^/]*/){16})"};
inline constexpr TextRule kCaseNameRule{kJobNameRule.letters, kJobNameRule.length, "is no name of a case",
                                        kJobNameRule.advice, kJobNameRule.also};

inline constexpr std::size_t kMostCases = 10000;  // of a scenario with those that it includes

struct CaseTrees {
  std::vector<CaseTree> cases;
  std::vector<Fabric> fabrics;  // of those with a `job`
  std::size_t values = 0;       // that the cases hold together
  Tree replaced;                // a map: the keys of the top level that every case replaces
};

// `folder` is that of the scenario file, `seed` the scenario's. Errors: Failure::input for unknown keys, a path of
// `set` or --set that leads nowhere, `planner`, `planners` and `plan` beside each other, `jobs` beside a workload,
// cases that blow the file up beyond what memory should hold.
CaseTrees case_trees(const Tree& scenario, const std::string& folder, const Overrides& overrides, std::uint64_t seed);

// The same of one entry of `cases` alone, by its position (0 where the file has no `cases`), which has to be there.
// `loaded`: what earlier calls have read, which is not read again.
CaseTrees case_trees_of(const Tree& scenario, const std::string& folder, const Overrides& overrides, std::uint64_t seed,
                        std::size_t entry, LoadedTrees& loaded);

// The parts of it.

// The list of that case alone. An initializer list would copy its keys, which hold all that is stated of its tables.
std::vector<CaseTree> alone(CaseTree tree);

// Keys of a case that change what is simulated or what it is compared with: all but `name` and `set`.
std::vector<std::string> case_keys();

// Keys of one entry of `jobs`.
const std::vector<std::string>& job_keys();

// Refuses `jobs` beside what belongs to a single workload (`workload`, `planner`, `planners`, `plan`, `published`,
// `relative_to`, `repeat`).
void refuse_jobs_beside(const Tree& keys);

// A case with `jobs` as one case per job, `prefix` in front of its name; any other case as itself.
// Errors: unknown keys of a job, a plan beside a planner, two jobs of one name.
std::vector<CaseTree> expand_jobs(CaseTree tree, const std::string& prefix);

// A case with `repeat: N` as N cases NAME/1 to NAME/N that differ in `planner.seed` alone, which counts up from the
// planner's own seed, else from `seed`; any other case as itself. All but the first are marked as CaseTree::again.
// Errors: beside `plan`; a planner that draws nothing; more than 1,000.
std::vector<CaseTree> expand_repeats(CaseTree tree, std::uint64_t seed);

// A case with `planners` as one case NAME/LABEL per entry; any other case as itself. All but the first are marked as
// CaseTree::again. Errors: an entry that is no planner, two of one label, what belongs to a single plan beside it
// (`published`, `relative_to`, `repeat`).
std::vector<CaseTree> expand_planners(CaseTree tree);

// Gives the planners of the case `first`, where it stands for others, too, a name that none of them has: what their
// names begin with, else the workload's; its own where another case has that.
void name_joined(std::vector<CaseTree>& cases, const CaseTree& first);

// Refuses `planners` beside those keys.
void refuse_beside_planners(const Tree& keys);

// The case `first` again, with the planner that these options ask for.
CaseTree with_planner(const CaseTree& first, Tree options);

// Refuses so many cases like this one as memory should not hold.
void refuse_too_many(const CaseTree& tree, std::size_t count, const Place& place);

// Refuses a planner, several and a plan file beside each other.
void refuse_several_plans(const Tree& keys);

// Replaces the whole value of one key. A planner, several and a plan file exclude each other, jobs and a single
// workload too, so the later one drops the others; what belongs to a single plan goes with it.
void assign_key(Tree& keys, const std::string& key, Tree value);

// One edit that the command line asks for: --set PATH=VALUE, or --seed and --planners as paths of their own.
struct Setting {
  std::string path;
  Tree value;  // at the place "argument --set PATH"
};

std::vector<Setting> settings_of(const Overrides& overrides);

// "a.b.c" as "a" (hyphens read as underscores) and "b.c".
std::pair<std::string, std::string> split_head(const std::string& path);

// "3.planner.cut", what follows `cases.`, as 3 and "planner.cut"; nothing when it addresses no key of a case.
std::optional<std::pair<std::size_t, std::string>> case_path(const std::string& path);

// Refuses paths that do not begin with one of `keys` or with the number of one of so many cases.
void check_settings(const std::vector<Setting>& settings, const std::vector<std::string>& keys, std::size_t cases);

// Keeps only the cases at these positions and, for a job, also the other jobs on its fabric, because without them its
// simulation would give other results. A case whose `relative_to` is left out stays, and its result says so.
void keep_cases(Scenario& scenario, const std::vector<std::size_t>& kept);

// The value of a key of the scenario's top level: the last setting of it, else the file's; null when neither has it.
Tree top_value(const Tree& scenario, const std::string& key, const Overrides& overrides);

}  // namespace shardsim
