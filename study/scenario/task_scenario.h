#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/workload/pool/task_draw.h"

namespace shardsim {

// The setting that the tasks of a scenario have in common, beside the law that they were drawn by.
struct TaskSetting {
  std::string made_by;  // the command line, for the file's first line
  std::string title;
  std::string pool;                  // workload, as the scenario names it
  std::string cluster;               // likewise
  std::string memory;                // of one GPU, as text with its unit; "": the cluster's
  int nodes = 0, gpus_per_node = 0;  // 0: as the cluster says
  std::int64_t batch_per_gpu = 0;
  int tests = 0;  // the last so many tasks are called test/00 ..., those before train/00 ...; 0: all are task_00 ...
};

// The tasks as a scenario, a case each: lookups and exchanges alone (ids in place, no dense part, plain SGD), memory by
// the weights alone, as the papers have it.
std::string tasks_to_yaml(const std::vector<Task>& tasks, const TaskLaw& law, const TaskSetting& setting);

}  // namespace shardsim
