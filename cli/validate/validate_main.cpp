#include <filesystem>
#include <string>

#include "base/files.h"
#include "base/result_folder.h"
#include "cli/arguments/process.h"
#include "cli/file_kinds.h"
#include "cli/validate/crew.h"
#include "cli/validate/ranks_here.h"
#include "cli/validate/request.h"
#include "validate/execute/buffers/lookup_buffers.h"

namespace {

using namespace shardsim;

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
