#include <fmt/core.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "base/files.h"
#include "base/result_folder.h"
#include "base/text.h"
#include "cli/arguments/process.h"
#include "cli/file_kinds.h"
#include "cli/validate/crew.h"
#include "cli/validate/request.h"
#include "program/program.h"
#include "validate/execute/buffers/lookup_buffers.h"
#include "validate/execute/meet/launch.h"
#include "validate/execute/meet/secret.h"
#include "validate/execute/meet/tcp.h"

namespace {

using namespace shardsim;

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

// The ranks that this process runs, in their order: one of a launcher's, those of a node, or all; at least one. Where
// all are here, they share a secret that nobody else knows, and a port that was free a moment ago unless one is asked
// for. The process may open the descriptors that they need. Errors (Failure::input): the launcher started neither a
// process for each rank nor one for each node (names it); more ranks than one process runs (names the Program); those
// of launch_from, secret_of_file and allow_descriptors.
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

constexpr double kWorthSaying = 5;  // seconds of an operation

// Refuses operations that would take a rank too long: the work of a GPU in one second may take a processor days,
// without a sign of life.
void check_patience(const MachineEntry& machine, const ValidateSource& source, const ValidateRequest& request,
                    const Place& place) {
  if (machine.longest == nullptr) return;
  const LongestOperation longest = machine.longest(source.program, request.options.machine.threads);
  check_longest(longest, request.patience, place);
  if (longest.seconds > kWorthSaying) say("note: " + to_text(longest));
}

// Refuses a program that no rank can execute, once and before any rank is started.
void check_executable(const ValidateSource& source, const ValidateRequest& request) {
  ProgramPlaces places;
  places.program = {request.program};
  lookup_buffers(source.program, places, 0);
  const MachineEntry& machine = machine_named(request.options.device);
  if (machine.check != nullptr) machine.check(source.program, places);
  check_patience(machine, source, request, places.program);
}

// Told before the run, not after it.
void check_results_of(const ValidateRequest& request, int world_size) {
  if (request.output.path.empty()) return;  // with --check-data
  check_result(request.output.path, request.writer);
  check_result(request.output.of(0, false), request.writer);
  if (request.trace.path.empty()) return;
  for (int rank = 0; rank < world_size; ++rank)
    check_result(std::filesystem::path(request.trace.path) / ("rank" + std::to_string(rank) + ".json"), request.writer);
}

int validate(const Arguments& given, const Terminal&) {
  const ValidateRequest request = validate_request(given);
  const ValidateSource source = load_source(given);
  const std::vector<Launch> ranks = ranks_here(source.program, request);
  check_executable(source, request);
  if (ranks.front().rank == 0) check_results_of(request, source.program.world_size);
  return run_crew(ranks, source, request);
}

Command validate_program() {
  return {
      .name = "shardsim-validate",
      .summary = "execute the Program of a case on real devices, and write the observed timeline",
      .positionals = source_positionals(),
      .options = validate_options() + source_options(),
      .notes =
          "The ranks are known from the environment variables of torchrun, Open MPI or Slurm, which start one process\n"
          "per rank or per node. Without such a launcher, this process runs all ranks: 256 at most.",
      .examples = {"shardsim lower scenarios/toy.yaml --case flexshard_3tier -o out/toy.program.json",
                   "shardsim-validate out/toy.program.json --warmup 2 --iterations 3 -o out/toy.observed.h5"},
      .run = validate};
}

}  // namespace

int main(int count, char** values) {
  on_stop_signals(OnStop::ends);  // until the ranks have met
  return guarded([&] { return run_program(validate_program(), {values + 1, values + count}, look_at_terminal()); });
}
