// The CUDA machine where no GPU is: every rank is a process that runs the source of the kernels on the CPU and passes
// the bytes of NCCL on as files (cuda_on_cpu/README.md). Its data must equal those of a single process, bit for bit.
#include <fmt/format.h>

#include <algorithm>

#include "tests/validate/execute/devices/cuda_ranks.h"
#include "tests/validate/execute/ranks.h"
#include "tests/validate/execute/sample_programs.h"
#include "validate/execute/run/execute.h"

using namespace shardsim;

namespace {

// Runs one rank and returns its exit code: 0 when its data is right.
int run_rank(const Program& program, int rank, int port) {
  try {
    const std::unique_ptr<Rendezvous> rendezvous =
        Rendezvous::join(test::launch_of(rank, program.world_size, port), 30);
    ExecuteOptions options;
    options.device = "cuda";
    const std::string difference = check_data(program, *rendezvous, options, 3);
    if (rank == 0 && !difference.empty()) fmt::print("{}\n", difference);
    rendezvous->leave();
    return difference.empty() ? 0 : 1;
  } catch (const std::exception& error) {
    fmt::print("{}\n", error.what());
  }
  return 1;
}

// Ranks that did not end well.
int failures(const Program& program) {
  const int port = test::free_port();
  const std::vector<int> statuses = test::in_processes(program.world_size, program.ranks_per_node,
                                                       [&](int rank) { return run_rank(program, rank, port); });
  return static_cast<int>(std::ranges::count_if(statuses, [](int status) { return status != 0; }));
}

bool holds(const std::string& what, const Program& program) {
  const int failed = failures(program);
  fmt::print("{}: {}\n", what, failed == 0 ? "as a single process" : fmt::format("{} ranks failed", failed));
  return failed == 0;
}

}  // namespace

int main() {
  const test::Folder folder;
  bool all = holds("sequences in three tiers", sample::toy_program());
  const Workload pooled = sample::workload(sample::kPooledTables);
  for (const Strategy strategy : sample::strategies()) {
    all &= holds("pooled " + std::string(strategy_name(strategy)),
                 sample::lowered(std::vector<Strategy>{strategy}, pooled));
  }
  for (const char* const pipeline : {"sparse_dist", "prefetch_sparse_dist"}) {
    all &= holds(std::string("all types, ") + pipeline, sample::mixed_program(pipeline));
    all &= holds(std::string("rows in host memory, ") + pipeline, sample::hosted_program(pipeline));
  }
  return all ? 0 : 1;
}
