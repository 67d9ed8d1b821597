#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result_folder.h"
#include "cli/arguments/command.h"
#include "cli/arguments/process.h"
#include "validate/execute/meet/join.h"
#include "validate/execute/meet/launch.h"
#include "validate/microbench/microbench.h"
#include "validate/microbench/shard_bench.h"

namespace shardsim {

// The request to shardsim-microbench.
struct Request {
  std::string output, csv;
  ResultWriter writer;  // of both
  const BenchDeviceEntry* device = nullptr;
  int threads = 0;
  std::optional<int> port;  // of the rendezvous of several ranks
  std::string secret_file;  // of the same; "": the secret is in the environment, or there is none
  double join_limit = kJoinLimit;
  std::string grid;  // of which size; "" without
  bool quick = false, quiet = false, collectives = false;
  bool untimed = false;   // collectives once each, for the log of NCCL
  bool warm = false;      // every point of the sweep
  std::string shards;     // file of shards to time instead of the sweep; "" without
  std::string exchanges;  // file of exchanges to time instead; "" without
  std::string cluster;    // name of the cluster that the ranks of the exchanges run on; "" where nobody said
  ShardOptions shard_options;
  MicrobenchOptions options;
};

// The options that it is asked by.
std::vector<Option> microbench_options();

// Errors: an option that the others leave without a meaning, a device that this build has not, an output file that
// holds something else.
Request request_of(const Arguments& given);

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
