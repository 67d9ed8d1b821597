#pragma once

#include <functional>
#include <string>

#include "program/program.h"
#include "program/timeline/timeline.h"
#include "validate/execute/devices/machine.h"
#include "validate/execute/meet/rendezvous.h"

namespace shardsim {

// Errors (Failure::input): not in the table, which lists the known names.
const MachineEntry& machine_named(const std::string& name);

struct ExecuteOptions {
  std::string device = "cpu";
  MachineOptions machine;
  int warmup = 50;
  int iterations = 20;
  bool apart = false;  // every iteration starts alone, synchronised, as collective benchmarks do; else back to back
  // In a check of the data, the bytes of rows and vectors that the single process may hold; more are judged by a
  // sample.
  std::int64_t check_bytes = std::int64_t{1} << 29;
  // Ends the process, with the reason the run failed for; called where a failed run hangs, since kernels of a GPU that
  // wait for a lost peer, and drivers, can keep a thread for ever. Not set: the caller hangs with them.
  std::function<void(const std::string& why)> give_up;
  // True when this process was told to stop. Not set: it never is.
  std::function<bool()> stopped;
};

// Seconds after which a failed run counts as hanging: from the failure until its thread returns from the machine, and
// from the end of saving until the machine is gone.
inline constexpr double kFailedRunHangs = 5;
inline constexpr double kStoppedRunHangs = 0.3;  // the same where ExecuteOptions::stopped says so

// Executes the Program, or one for each iteration, with this process as one of its ranks; iterations count from the
// first that is not kept. Every rank calls. Rank 0 gets the Timeline of all ranks; the others get an empty one. After a
// failure the others are told first, then `save` is given what was measured so far, with `complete` false: on rank 0
// that of all ranks that are left; where rank 0 has died, on each rank its own. Then the machine ends what still runs,
// and the Error is thrown.
Timeline execute(const IterationPrograms& programs, Rendezvous& rendezvous, const ExecuteOptions& options,
                 const std::function<void(const Timeline&)>& save);

// Runs `iterations` iterations with whole-number data and compares gathered and updated rows with a single process, bit
// for bit. Every rank judges its own, all or as many as there is room for. Returns "" or the first difference (the same
// text on every rank).
std::string check_data(const IterationPrograms& programs, Rendezvous& rendezvous, const ExecuteOptions& options,
                       int iterations);

}  // namespace shardsim
