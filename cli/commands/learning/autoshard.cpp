#include <fmt/format.h>

#include <utility>

#include "base/document/document.h"
#include "base/files.h"
#include "base/text.h"
#include "base/units.h"
#include "base/workers.h"
#include "cli/commands/all.h"
#include "cli/commands/learning/training.h"
#include "cli/commands/shared.h"
#include "plan/autoshard/cost_error.h"
#include "plan/autoshard/trainer.h"

namespace shardsim {
namespace {

constexpr std::int64_t kMostUpdates = 100'000;
constexpr int kTables = 2;  // of balance, and of the costs that the policy predicts

// AutoShard's Table 3: the cost model on tables that it was trained on, and on those of other tasks.
Section cost_section(const ShardingPolicy& policy, const TaskSplit& split) {
  Sheet sheet{{{"shards of", false}, {"mean error ms"}, {"mean square ms2"}, {"error %"}}, {}};
  const auto add = [&](const std::string& whose, const std::vector<PolicyCase>& cases) {
    std::vector<const ShardingTask*> tasks;
    for (const PolicyCase& item : cases) tasks.push_back(&item.task());
    const CostError error = cost_error(policy, tasks);
    sheet.rows.push_back({{whose, fmt::format("{:.4f}", error.absolute_ms), fmt::format("{:.5f}", error.square_ms2),
                           fmt::format("{:.1f}", 100 * error.share)},
                          false});
  };
  add("tasks trained on", split.train);
  add("tasks held back", split.test);
  return table_section("Costs that the policy predicts",
                       fmt::format("Over {} random shards of {} tables. error %: the mean error divided by the mean "
                                   "time of these shards.",
                                   kJudgedShards, kTablesOfJudgedShard),
                       std::move(sheet));
}

Document balance_document(const std::vector<BalanceResult>& results, const ShardingPolicy& policy,
                          const TaskSplit& split) {
  Sheet sheet{{{"placed by", false}, {"tasks"}, {"balance %"}, {"least %"}, {"slowest ms"}, {"over random"}}, {}};
  for (const BalanceResult& result : results) {
    sheet.rows.push_back(
        {{result.way, fmt::format("{}", result.solved), mean_cell(result.solved, "{:.1f}", 100 * result.balance),
          mean_cell(result.solved, "{:.1f}", 100 * result.least_balance),
          mean_cell(result.solved, "{:.4f}", result.largest_ms), mean_cell(result.solved, "{:.3f}x", result.speed_up)},
         false});
  }
  std::vector<JudgedWay> ways;
  for (const BalanceResult& result : results)
    ways.push_back({result.way, result.solved, result.largest_ms, result.speed_up});
  Document document;
  document.blocks.emplace_back(
      Paragraph{policy_answer(ways, split.test.size(), "the slowest shard of the policy's placements takes"),
                Paragraph::Role::summary});
  document.add(table_section(
      "In-model",
      fmt::format(
          "{} tasks were held back and are judged with the costs of {} for {}, which also labelled the "
          "training data. balance: time of the fastest shard of a task divided by that of the slowest; mean "
          "over the tasks that fit in memory (random: 20 placements each; best of N: the most even one of N that "
          "fit). over random: time of the slowest shard of random placements divided by that of this placement.",
          split.test.size(), policy.setting.provider, policy.setting.device),
      std::move(sheet)));
  if (predicts_costs(policy)) document.add(cost_section(policy, split));
  return document;
}

PolicyTraining training_of(const Scenario& scenario, const Arguments& given) {
  PolicyTraining training;
  training.seed = scenario.seed;
  training.updates = static_cast<int>(*given.count("updates", 1, kMostUpdates));
  training.stop_after = static_cast<int>(given.count("stop-after", 1, training.updates).value_or(0));
  training.rate = parse_real(given.text("rate"), Arguments::place("rate"));
  if (!(training.rate > 0 && training.rate < 1))
    throw input_error(Arguments::place("rate"), "the learning rate must lie between 0 and 1", "Take 0.001");
  training.without = given.values("without");
  return training;
}

ShardingPolicy trained(const std::vector<PolicyCase>& cases, const PolicyTraining& training, const Terminal& terminal) {
  std::vector<ShardingTask> tasks;
  for (const PolicyCase& item : cases) tasks.push_back(item.task());
  Progress progress("training");
  return train_policy(tasks, training, [&](const PolicyProgress& done) {
    throw_if_interrupted(terminal.interrupted);
    progress.count("updates", done.update, done.all, fmt::format(", reward {:.3f}", done.reward));
  });
}

int train_autoshard(const Arguments& given, const Terminal& terminal) {
  const Progress progress = progress_of(given, "judging the policy");
  check_learned_output(given);
  const Scenario scenario = asked_scenario(given);
  const PolicyTraining training = training_of(scenario, given);
  const TaskSplit split = tasks_of(scenario, given, terminal);
  ShardingPolicy policy = trained(split.train, training, terminal);
  policy.data = scenario.title.empty() ? scenario.path : scenario.title;
  std::vector<BalanceResult> results;
  if (!split.test.empty()) results = judge_policy(policy, split.test);
  if (!results.empty()) policy.balance = results.front().balance;
  write_result(given.text("output"), result_writer(given),
               [&](const std::filesystem::path& hidden) { save_policy(policy, hidden); });
  if (!results.empty()) print_result(shown_text(balance_document(results, policy, split), given, terminal, kTables));
  say(fmt::format("wrote {}: {} tasks, {} episodes, seed {}", given.text("output"), policy.tasks, policy.episodes,
                  policy.seed));
  return 0;
}

Command autoshard_train_command() {
  return {
      .name = "shardsim autoshard train",
      .summary = "train a policy for the planner autoshard on the cases of a scenario",
      .positionals = {{"SCENARIO",
                       "A scenario each of whose cases is a sharding task. The planners of the cases are ignored."}},
      .options =
          std::vector{
              Option{"output", 'o', "POLICY.h5", "Write this file.", "", Option::Times::once}, held_back_option(),
              Option{"updates", 0, "N", "The number of training steps; each has ten episodes.",
                     fmt::format("{}", PolicyTraining{}.updates)},
              Option{"stop-after", 0, "N",
                     "End after this number of training steps, with what the whole training has learned by then."},
              Option{"rate", 0, "R", "The learning rate of Adam in the first step; it falls to 0 in the last one.",
                     "0.001"},
              without_option(" cost_model: let it learn without predicted costs, and place tables in their order."),
              details_option(), force_option()} +
          scenario_options(),
      .notes = "The same scenario and the same seed give the same file. A training that is stopped leaves no file.\n",
      .examples = {"shardsim autoshard train scenarios/autoshard_tasks.yaml -o out/policy.h5",
                   "shardsim autoshard train out/autoshard.yaml --seed 3 --updates 2 -o out/policy_3.h5"},
      .run = train_autoshard};
}

}  // namespace

Command autoshard_command() {
  return {.name = "shardsim autoshard",
          .summary = "train policies that place whole tables, as AutoShard does",
          .examples = {"shardsim workload sample tasks metasyn_856 --tasks 6 --test 2 --gpus 4 --min-tables 8 "
                       "--max-tables 8 --max-dim 16 -o out/autoshard.yaml",
                       "shardsim autoshard train out/autoshard.yaml --updates 2 -o out/policy.h5"},
          .parts = {autoshard_train_command()}};
}

}  // namespace shardsim
