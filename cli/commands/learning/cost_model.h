#pragma once

#include "cli/arguments/command.h"

namespace shardsim {

// The parts of `cost-model`.
Command cost_model_sample_command();
Command cost_model_label_command();
Command cost_model_train_command();
Command cost_model_evaluate_command();

}  // namespace shardsim
