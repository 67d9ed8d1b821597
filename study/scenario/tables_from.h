#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/tree/tree.h"
#include "models/workload/pool/task_draw.h"

namespace shardsim {

// The workload key `tables_from: {workload, tables, dims, dtype}` as the list `tables` that it stands for
// (docs/formats/scenario.md, tables of another workload): of that workload's tables, copies counted one by one, those
// with these numbers, from 0 and in this order, each with its own number of columns. A table that is picked again gets
// the name NAME.2, NAME.3 ... `load` returns a workload whole, by name or path. Errors (Failure::input, at the place):
// keys missing or unknown, numbers beyond the tables there, a list of dims of another length.
Tree picked_tables(const Tree& tables_from, const std::function<const Tree&(const Tree& name)>& load);

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
