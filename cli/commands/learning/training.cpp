#include "cli/commands/learning/training.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/workers.h"

namespace shardsim {
namespace {

// By the patterns of --test; else those called test/..., else the last tenth.
std::vector<bool> held_back_cases(const Scenario& scenario, const Arguments& given) {
  const std::vector<std::string> names = names_of(scenario);
  std::vector<bool> held(names.size(), false);
  if (given.has("test")) {
    for (const std::size_t i : chosen_names(names, given, "test")) held[i] = true;
    return held;
  }
  std::size_t found = 0;
  for (std::size_t i = 0; i < names.size(); ++i)
    if (names[i].starts_with("test/")) held[i] = true, ++found;
  if (found == 0 && names.size() > 1) std::fill_n(held.rbegin(), std::max<std::size_t>(1, names.size() / 10), true);
  return held;
}

}  // namespace

TaskSplit tasks_of(const Scenario& scenario, const Arguments& given, const Terminal& terminal) {
  const std::vector<bool> held = held_back_cases(scenario, given);
  Progress progress("reading the tasks");
  TaskSplit split;
  for (std::size_t i = 0; i < scenario.cases.size(); ++i) {
    throw_if_interrupted(terminal.interrupted);
    progress.count("tasks", static_cast<std::int64_t>(i + 1), static_cast<std::int64_t>(scenario.cases.size()));
    (held[i] ? split.test : split.train).emplace_back(scenario.cases[i], scenario.seed);
  }
  if (split.train.empty())
    throw input_error({scenario.path}, "no case is left to train on", "Give --test a pattern that fits fewer cases");
  return split;
}

std::string mean_cell(int solved, const char* format, double mean) {
  return solved == 0 ? "-" : fmt::format(fmt::runtime(format), mean);
}

std::string policy_answer(const std::vector<JudgedWay>& ways, std::size_t tasks, const std::string& judged) {
  const JudgedWay& policy = ways.front();
  const std::string held =
      fmt::format("On the {} held back", tasks == 1 ? "task that was" : fmt::format("{} tasks that were", tasks));
  if (policy.solved == 0) return held + " no placement of the policy fits in memory.";
  const JudgedWay* best = nullptr;  // means over other tasks would not be comparable
  for (const JudgedWay& way : ways)
    if (!way.way.starts_with("policy") && way.solved == policy.solved && (best == nullptr || way.ms < best->ms))
      best = &way;
  std::string text =
      fmt::format("{}, {} {:.4f} ms on average{}; task by task, random ones take {:.2f} times as long in the mean.",
                  held, judged, policy.ms,
                  static_cast<std::size_t>(policy.solved) == tasks
                      ? ""
                      : fmt::format(" (over the {} where they fit in memory)", policy.solved),
                  policy.speed_up);
  if (best == nullptr) return text;
  return text + fmt::format(" The best of the others, '{}', takes {:.4f} ms{}.", best->way, best->ms,
                            best->ms < policy.ms ? ", which is less: the policy gains nothing here" : "");
}

Option held_back_option() {
  return Option{"test",
                0,
                "PATTERN",
                "Do not train on the cases whose names fit this pattern, and judge the policy on them. Without "
                "this option these are the cases called test/..., or the last tenth if there are none.",
                "",
                Option::Times::any};
}

Option without_option(const std::string& more) {
  return Option{
      "without", 0,
      "FEATURE", "Hide this feature of the tables from the policy: dim, row, pooling_factor, size, bins." + more,
      "",        Option::Times::any};
}

}  // namespace shardsim
