#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/hdf5/hdf5.h"
#include "models/learned/cost_model.h"
#include "models/learned/learned_file.h"
#include "plan/autoshard/sharding_task.h"

namespace shardsim {

// The data and the setting that a policy was trained on, as its file says it.
struct TrainedOn {
  LabelSetting setting;
  std::string data;                               // what the tasks are, in the words of their scenario
  std::uint64_t data_hash = 0;                    // of features and seconds of their tables
  std::int64_t tasks = 0, tables = 0, ranks = 0;  // trained on: how many, and the most of one
  std::uint64_t seed = 1;
  std::int64_t episodes = 0;
  InputScale features;      // of the features of a table
  std::vector<int> used;    // [features] 0: the net is not told
  double unit_seconds = 1;  // what 1 of a predicted cost stands for

  // As the net takes them; [tables x features].
  std::vector<float> scaled(std::vector<float> raw) const;
};

// That of tasks which are to be trained on, without the features that `without` names: of feature_names(autoshard), or
// "bins". `standardised`: the features that are centred and divided by their deviation; the others stay as they are.
// Errors (Failure::input): no task, tasks of several settings, without a table or with fewer than two ranks, a label
// that is not finite or not above 0, an unknown name in `without`.
TrainedOn trained_on(std::span<const ShardingTask* const> tasks, std::uint64_t seed,
                     const std::vector<std::string>& without, const std::vector<std::string>& standardised);

// A value of the planner's option `policy`: a file, or {file, provider}; "": any provider.
struct StatedPolicy {
  std::string file, provider;
};
StatedPolicy stated_policy(MapReader& options);

// The attributes of the root of a policy's file, and the datasets of its features.
void write_trained_on(Hdf5Writer& file, const std::string& schema, const TrainedOn& policy);
// Errors (Failure::input, naming file and object): another schema or feature layout, another provider than asked for
// ("": any), numbers that are not finite.
void read_trained_on(const LearnedFile& file, const std::string& schema, const std::string& provider,
                     TrainedOn& policy);

// Refuses a task of another setting than the policy of that planner was trained on. Errors (Failure::input) name what
// differs.
void check_fits(const TrainedOn& policy, const ShardingTask& task, const Place& place,
                const std::string& planner = "autoshard");
// Refuses costs of a case that somebody else says than who labelled the policy's: what is cheap by one of them may be
// dear by another. A policy whose provider the scenario states is taken nevertheless. Errors (Failure::input).
void check_provider(const TrainedOn& policy, const StatedPolicy& stated, const PlannerHost& host, const Place& place,
                    const std::string& planner);
// "The policy was trained on ...", and how the task differs.
std::string origin_of(const TrainedOn& policy, const ShardingTask& task);

}  // namespace shardsim
