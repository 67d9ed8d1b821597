#pragma once

#include "cli/arguments/command.h"

namespace shardsim {

// The declarations of the sub-commands of `shardsim`, each beside its function in the file of its name.
Command run_command();
Command sweep_command();
Command check_command();
Command list_command();
Command plan_command();
Command explain_command();
Command lower_command();
Command why_command();
Command compare_command();
Command convert_command();
Command model_import_command();
Command cluster_command();
Command cluster_calibrate_command();  // a part of `cluster`
Command collective_command();
Command collective_compare_command();  // a part of `collective`
Command compute_command();
Command cost_model_command();
Command cost_model_sample_command();  // a part of `cost-model`, as the next three
Command cost_model_label_command();
Command cost_model_train_command();
Command cost_model_evaluate_command();
Command drift_command();
Command explore_command();
Command emulate_command();
Command validate_emulated_command();
Command autoshard_command();
Command dreamshard_command();
Command workload_command();
Command confidence_command();
Command schema_command();

}  // namespace shardsim
