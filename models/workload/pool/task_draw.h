#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "models/workload/workload.h"

namespace shardsim {

// The law by which tasks are drawn from a pool of tables: that of NeuroShard (Zha et al., MLSys 2023, appendix B;
// daochenzha/neuroshard at ec7ca74, gen_tasks.py), and with `replace` off that of AutoShard (daochenzha/autoshard at
// e861ecb, gen_tasks.py). A task has a number of tables, even over least to most; its tables are even over the pool,
// its dims over least_dim, 2 least_dim ... most_dim; tables and dims are drawn anew, together, until the weights fit.
struct TaskLaw {
  int tasks = 100;
  std::size_t least_tables = 10, most_tables = 59;
  std::int64_t least_dim = 4, most_dim = 128;
  Dtype dtype = Dtype::fp32;
  double most_bytes = 0;  // of the weights; 0: any
  bool replace = true;    // whether a task may have a table twice
};

struct Task {
  std::vector<std::size_t> tables;  // numbers of the pool's
  std::vector<std::int64_t> dims;   // of each
  bool operator==(const Task&) const = default;
};

// Same pool, law and seed: same tasks, and the first ones are the same for any number of tasks. `check_stop` is called
// now and then, and may throw.
// Errors (Failure::input, at the argument that says so): a law that contradicts itself or the pool, and one that needs
// over a hundred million draws of tables for all tasks; where that can be told beforehand, it is told before any draw.
std::vector<Task> draw_tasks(const std::vector<Table>& pool, const TaskLaw& law, std::uint64_t seed,
                             const std::function<void()>& check_stop);

}  // namespace shardsim
