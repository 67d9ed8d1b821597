#include "base/workers.h"
#include "cli/arguments/process.h"
#include "cli/commands/all.h"

namespace {

using namespace shardsim;

// The commands in the order of a user's work.
Command shardsim_program() {
  return {
      .name = "shardsim",
      .summary = "predict the iteration time of sharded recommendation models on GPU clusters",
      .notes =
          "Exit codes: 0 success, 1 the run failed, 2 wrong usage or bad input, 3 the plan does not fit in memory,\n"
          "4 a comparison is outside its tolerance, 130 stopped by Ctrl-C.\n",
      .examples = {"shardsim run scenarios/flexshard.yaml", "shardsim list planners"},
      .parts = {run_command(),        explore_command(),    sweep_command(),
                check_command(),      list_command(),       plan_command(),
                explain_command(),    why_command(),        lower_command(),
                compare_command(),    convert_command(),    model_import_command(),
                cluster_command(),    collective_command(), compute_command(),
                cost_model_command(), autoshard_command(),  dreamshard_command(),
                drift_command(),      emulate_command(),    validate_emulated_command(),
                workload_command(),   confidence_command(), schema_command()}};
}

int run_until_stopped(const std::vector<std::string>& words) {
  try {
    return run_program(shardsim_program(), words, look_at_terminal());
  } catch (const Interrupted&) {
    return report_error(128 + caught_signal(), "stopped; no half-written file was left behind.");
  }
}

}  // namespace

int main(int count, char** values) {
  on_stop_signals(OnStop::ends);
  keep_freed_memory();
  return guarded([&] { return run_until_stopped(std::vector<std::string>(values + 1, values + count)); });
}
