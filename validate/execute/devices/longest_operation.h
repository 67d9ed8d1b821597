#pragma once

#include <string>

#include "base/error.h"
#include "program/program.h"

namespace shardsim {

// The compute operation of a Program that takes a CPU rank longest, told before it is started: what a GPU does in
// seconds may take a processor days.
struct LongestOperation {
  std::string name;    // "": none has much to do, or a time of its own
  double flops = 0;    // of the rank that takes longest
  double seconds = 0;  // on `threads` threads that nothing else keeps busy, so as a rule it takes longer
  double bytes = 0;    // that this rank reads and writes
};

// Where an operation has 1 GFLOP or more, a matrix product of a few milliseconds is timed here first; where one moves
// 1 GB or more, a copy.
LongestOperation longest_cpu_operation(const Program& program, int threads);

// "operation "dense" of 4.5 PFLOP takes a rank about 31 hours or more in every iteration".
std::string to_text(const LongestOperation& longest);

// Errors (Failure::input at `place`): it takes more than `most_seconds`.
void check_longest(const LongestOperation& longest, double most_seconds, const Place& place);

}  // namespace shardsim
