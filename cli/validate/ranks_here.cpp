#include "cli/validate/ranks_here.h"

#include <fmt/core.h>

#include <cstdlib>
#include <string>

#include "base/text.h"
#include "validate/execute/meet/secret.h"
#include "validate/execute/meet/tcp.h"

namespace shardsim {
namespace {

constexpr int kMostRanksHere = 256;  // each has threads, and a connection to every other one

int free_local_port() {
  return local_address(listen_on({"127.0.0.1", 0})).port;
}

// True when a launcher started a process for each rank; false for one per node, or without a launcher. Errors: another
// number of processes.
bool one_per_rank(const Launch& launch, const Program& program) {
  const int world = program.world_size;
  const bool per_node =
      launch.local_size == 1 && launch.world_size < world && launch.world_size * program.ranks_per_node == world;
  if (launch.launcher.empty() || per_node) return false;
  if (launch.world_size == world) return true;
  throw input_error(
      {"environment of " + launch.launcher},
      std::to_string(launch.world_size) + " processes for a program of " + std::to_string(world) + " ranks",
      "Start one per rank, or one per node of " + std::to_string(program.ranks_per_node));
}

void check_count(int here, const Launch& launch, const ValidateRequest& request) {
  if (here <= kMostRanksHere) return;
  throw input_error(
      {request.program},
      fmt::format("this process would run {} ranks, and {} are the most", with_thousands(here), kMostRanksHere),
      launch.launcher.empty() ? "Execute a smaller case, or start one process per rank or per node with "
                                "torchrun, mpirun or srun"
                              : "Start one process per rank");
}

}  // namespace

std::vector<Launch> ranks_here(const Program& program, const ValidateRequest& request) {
  Launch launch = launch_from([](const char* name) { return std::getenv(name); }, request.port);
  if (!request.secret_file.empty()) launch.secret = secret_of_file(request.secret_file);
  if (one_per_rank(launch, program)) return {launch};
  const bool alone = launch.launcher.empty();
  const int world = program.world_size;
  const int here = alone ? world : program.ranks_per_node;
  check_count(here, launch, request);
  const int channels = request.options.machine.transport == "sockets" ? static_cast<int>(program.streams.size()) : 0;
  allow_descriptors(socket_descriptors(world, here, launch.rank == 0, channels));
  if (alone) launch.secret = random_secret();
  if (alone && !request.port) launch.master_port = free_local_port();
  std::vector<Launch> ranks;
  for (int local = 0; local < here; ++local) {
    Launch each = launch;
    each.rank = launch.rank * here + local;
    each.world_size = world;
    each.local_rank = local % program.ranks_per_node;
    each.local_size = program.ranks_per_node;
    ranks.push_back(each);
  }
  return ranks;
}

}  // namespace shardsim
