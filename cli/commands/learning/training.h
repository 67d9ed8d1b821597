#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "base/result_folder.h"
#include "cli/arguments/arguments.h"
#include "cli/commands/shared.h"
#include "study/planning/policy_study.h"

namespace shardsim {

// Refuses a file of -o that the HDF5 file of a training may not be written to, before hours of training. Errors:
// Failure::input for standard output and for the file that is read; those of check_result().
inline void check_learned_output(const Arguments& given) {
  const std::string path = given.text("output");
  if (path == "-")
    throw input_error(Arguments::place("output"), "an HDF5 file cannot be written to standard output", "Name a file");
  refuse_read_file(path, given.positional());
  check_result(path, result_writer(given));
}

// The cases of a scenario as tasks, in its order, those held back apart.
struct TaskSplit {
  std::vector<PolicyCase> train, test;
};

// Errors (Failure::input): no case is left to train on, and what a case says.
TaskSplit tasks_of(const Scenario& scenario, const Arguments& given, const Terminal& terminal);

// A mean over the tasks that a way of placing has solved, in this format; "-" where it solved none.
std::string mean_cell(int solved, const char* format, double mean);

// How one way of placing does on the tasks that were held back: the mean time that is judged, over so many of them as
// it solves, and how many times as long random placements take.
struct JudgedWay {
  std::string way;
  int solved = 0;
  double ms = 0, speed_up = 0;
};
// The answer of a training: how the policy, the first of the ways, does beside random placements and the best of the
// others. `judged`: "the policy's placements take".
std::string policy_answer(const std::vector<JudgedWay>& ways, std::size_t tasks, const std::string& judged);

// The options of the trainings of policies: --test, whose cases are held back, and --without.
Option held_back_option();
Option without_option(const std::string& more = "");  // a sentence more

}  // namespace shardsim
