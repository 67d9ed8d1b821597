#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace shardsim {

// A piece of work that runs in its own process.
struct WorkerTask {
  std::string name;                  // for messages, e.g. the case
  std::function<std::string()> run;  // its result as bytes; may throw Error
  double weight = 1;                 // tasks that take longest begin first, so that no long one remains at the end
  // Receives the result in this process as soon as it is available; may be empty.
  std::function<void(std::string_view)> taken = {};
  // Receives the failure of the task, which then does not end other tasks; may be empty.
  std::function<void(const Error&)> failed = {};
};

// The number of processors that this process may use.
int processors();

struct WorkerOptions {
  int jobs = processors();                            // processes at a time
  std::function<void(int done, int total)> progress;  // may be empty
  std::function<bool()> interrupted;                  // may be empty
};

// Runs every task in a forked process and returns the results in the order of the tasks. The result of a task that has
// `taken` is empty. Errors of tasks without `failed`: the Error of the first task (in their order) that threw one;
// Failure::run naming the task if its process dies. Throws Interrupted if `interrupted` returns true. In all these
// cases the running processes are ended first, and no further task is begun.
std::vector<std::string> run_in_workers(const std::vector<WorkerTask>& tasks, const WorkerOptions& options);

// Thrown when the user asked to stop (Ctrl-C).
struct Interrupted {};

// Throws Interrupted if `interrupted` returns true; does nothing if it is empty.
void throw_if_interrupted(const std::function<bool()>& interrupted);

// Keeps the memory that this process frees for its next allocations. HDF5 and simulations allocate and free large
// blocks many times, and fetching each from the kernel again costs a tenth of a run. It suits processes that end soon,
// such as workers and commands.
void keep_freed_memory();

// The error that run_in_workers() throws for a worker that ended without reporting one.
struct WorkerDied : Error {
  WorkerDied(const std::string& name, int killer);
  int signal;  // that killed it; 0: it ended by itself
};

}  // namespace shardsim
