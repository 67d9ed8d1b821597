#pragma once

#include "cli/arguments/process.h"
#include "cli/microbench/request.h"

namespace shardsim {

// The runs of shardsim-microbench; each returns the exit code.

// Times the points of a sweep or a grid and writes them.
int run_sweep(const Request& request, const Terminal& terminal);

// One rank of the sweep of collectives; rank 0 writes.
int run_collectives(const Request& request);

// One rank of those that time the exchanges of a file; rank 0 writes.
int run_exchanges(const Request& request, const Terminal& terminal);

// Times the shards of a file; what was measured before an interruption lies in a journal beside the output.
int run_shards(const Request& request, const Terminal& terminal);

}  // namespace shardsim
