#include <fmt/format.h>

#include <utility>

#include "base/document/document.h"
#include "base/files.h"
#include "base/text.h"
#include "base/workers.h"
#include "cli/commands/all.h"
#include "cli/commands/learning/training.h"
#include "cli/commands/shared.h"
#include "plan/dreamshard/placing_trainer.h"

namespace shardsim {
namespace {

constexpr std::int64_t kMostTrainings = 100'000;

Document placement_document(const PlacementJudgement& judgement, const PlacingPolicy& policy, std::size_t tasks) {
  Sheet sheet{{{"placed by", false}, {"tasks"}, {"mean ms"}, {"over random"}}, {}};
  for (const PlacementResult& result : judgement.ways)
    sheet.rows.push_back({{result.way, fmt::format("{}", result.solved), mean_cell(result.solved, "{:.4f}", result.ms),
                           mean_cell(result.solved, "{:.3f}x", result.speed_up)},
                          false});
  std::vector<JudgedWay> ways;
  for (const PlacementResult& result : judgement.ways)
    ways.push_back({result.way, result.solved, result.ms, result.speed_up});
  Document document;
  document.blocks.emplace_back(
      Paragraph{policy_answer(ways, tasks, "the policy's placements take"), Paragraph::Role::summary});
  document.add(table_section(
      "In-model",
      fmt::format(
          "{} tasks were held back and are judged with the costs of {} for {}, which also labelled the training data: "
          "the slowest rank's lookups and updates, and the exchanges. Means over the tasks that fit in memory (random: "
          "20 placements each); policy: of {} drawn placements the {} that its cost network predicts to be the "
          "fastest are measured, and the best of them is taken; the network is off by {:.1f} % on those that it would "
          "take itself. over random: time of random placements divided by that of this placement.",
          tasks, policy.setting.provider, policy.setting.device, GameCounts{}.samples, GameCounts{}.measured,
          100 * judgement.cost_error),
      std::move(sheet)));
  return document;
}

PlacingTraining placing_training(const Scenario& scenario, const Arguments& given) {
  PlacingTraining training;
  training.seed = scenario.seed;
  training.iterations = static_cast<int>(*given.count("iterations", 1, kMostTrainings));
  training.without = given.values("without");
  return training;
}

PlacingPolicy trained_placing(const std::vector<PolicyCase>& cases, const PlacingTraining& training,
                              const Terminal& terminal) {
  std::vector<PlacementTask> tasks;
  for (const PolicyCase& item : cases) tasks.push_back(item.with_exchanges());
  Progress progress("training");
  return train_placing(tasks, training, [&](const PlacingProgress& done) {
    throw_if_interrupted(terminal.interrupted);
    if (done.all == 0) return;
    progress.count("iterations", done.iteration, done.all, fmt::format(", {:.4f} ms measured", done.seconds * 1e3));
  });
}

int train_dreamshard(const Arguments& given, const Terminal& terminal) {
  const Progress progress = progress_of(given, "judging the policy");
  check_learned_output(given);
  const Scenario scenario = asked_scenario(given);
  const PlacingTraining training = placing_training(scenario, given);
  const TaskSplit split = tasks_of(scenario, given, terminal);
  PlacingPolicy policy = trained_placing(split.train, training, terminal);
  policy.data = scenario.title.empty() ? scenario.path : scenario.title;
  PlacementJudgement judgement;
  if (!split.test.empty()) judgement = judge_placing(policy, split.test, scenario.seed);
  policy.cost_error = judgement.cost_error;
  write_result(given.text("output"), result_writer(given),
               [&](const std::filesystem::path& hidden) { save_placing_policy(policy, hidden); });
  if (!split.test.empty())
    print_result(shown_text(placement_document(judgement, policy, split.test.size()), given, terminal));
  say(fmt::format("wrote {}: {} tasks, {} placements measured, {} episodes, seed {}", given.text("output"),
                  policy.tasks, policy.measured, policy.episodes, policy.seed));
  return 0;
}

Command dreamshard_train_command() {
  return {
      .name = "shardsim dreamshard train",
      .summary = "train a policy for the planner dreamshard on the cases of a scenario",
      .positionals = {{"SCENARIO",
                       "A scenario each of whose cases is a sharding task. The planners of the cases are ignored."}},
      .options =
          std::vector{
              Option{"output", 'o', "POLICY.h5", "Write this file.", "", Option::Times::once}, held_back_option(),
              Option{"iterations", 0, "N",
                     "The number of iterations; in each, placements are measured, the cost network learns from all "
                     "that were measured, and the policy from what the cost network predicts.",
                     fmt::format("{}", PlacingTraining{}.iterations)},
              without_option(), details_option(), force_option()} +
          scenario_options(),
      .notes = "The same scenario and the same seed give the same file. A training that is stopped leaves no file.\n",
      .examples = {"shardsim dreamshard train scenarios/autoshard_tasks.yaml -o out/dreamshard.h5",
                   "shardsim dreamshard train out/autoshard.yaml --seed 3 --iterations 1 -o out/dreamshard_3.h5"},
      .run = train_dreamshard};
}

}  // namespace

Command dreamshard_command() {
  return {.name = "shardsim dreamshard",
          .summary = "train policies that place whole tables by predicted costs, as DreamShard does",
          .examples = {"shardsim workload sample tasks metasyn_856 --tasks 6 --test 2 --gpus 4 --min-tables 8 "
                       "--max-tables 8 --max-dim 16 -o out/autoshard.yaml",
                       "shardsim dreamshard train out/autoshard.yaml --iterations 1 -o out/dreamshard.h5"},
          .parts = {dreamshard_train_command()}};
}

}  // namespace shardsim
