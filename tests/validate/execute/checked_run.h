#pragma once

#include <numeric>
#include <string>
#include <vector>

#include "tests/validate/execute/ranks.h"
#include "validate/execute/run/execute.h"

// Programs executed by ranks on threads.
namespace shardsim::test {

// The differences and errors of the ranks of a run; "" when their data equals that of the single process.
inline std::string checked(const Program& program, int iterations, std::int64_t bytes = std::int64_t{1} << 29) {
  std::string all;
  ExecuteOptions options;
  options.check_bytes = bytes;
  const std::vector<std::string> errors = in_world(program.world_size, [&](Rendezvous& rendezvous) {
    const std::string difference = check_data(program, rendezvous, options, iterations);
    if (rendezvous.rank() == 0) all += difference;
  });
  for (const std::string& error : errors) all += error;
  return all;
}

// Bytes that all ranks sent each other in an iteration, as they counted them.
inline std::int64_t bytes_sent(const Program& program) {
  Timeline seen;
  const std::vector<std::string> errors = in_world(program.world_size, [&](Rendezvous& rendezvous) {
    ExecuteOptions options;
    options.warmup = 0;
    options.iterations = 1;
    const Timeline own = execute(program, rendezvous, options, [](const Timeline&) {});
    if (rendezvous.rank() == 0) seen = own;
  });
  for (const std::string& error : errors) {
    if (!error.empty()) throw run_error(error, "");
  }
  return std::accumulate(seen.bytes_out.begin(), seen.bytes_out.end(), std::int64_t{0});
}

}  // namespace shardsim::test
