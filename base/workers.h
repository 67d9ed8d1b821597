#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace shardsim {

// A piece of work for a process of its own.
struct WorkerTask {
  std::string name;                  // for messages, e.g. the case
  std::function<std::string()> run;  // its result as bytes; may throw Error
  double weight = 1;                 // those that take longest begin first, so that none is left alone at the end
  // Takes the result in this process, as soon as it is there; may be empty.
  std::function<void(std::string_view)> taken = {};
  // Takes its failure, which then ends nothing but itself; may be empty.
  std::function<void(const Error&)> failed = {};
};

// How many of them this process may use.
int processors();

struct WorkerOptions {
  int jobs = processors();                            // processes at a time
  std::function<void(int done, int total)> progress;  // may be empty
  std::function<bool()> interrupted;                  // may be empty
};

// Runs every task in a forked process and returns the results in task order, whatever order they end in; that of a task
// which has `taken` is empty.
// Errors, of tasks that have no `failed`: the Error of the first task (in task order) that threw one; Failure::run
// naming the task when a process dies. Interrupted when `interrupted` says so. On any of these all processes are ended
// first; after a failure later tasks are not begun, and those under way are ended.
std::vector<std::string> run_in_workers(const std::vector<WorkerTask>& tasks, const WorkerOptions& options);

// Thrown when the user asked to stop (Ctrl-C).
struct Interrupted {};

// Throws it when `interrupted` says so; an empty one never does.
void throw_if_interrupted(const std::function<bool()>& interrupted);

}  // namespace shardsim
