#include <fmt/format.h>

#include <cstdlib>

#include "accuracy/emulated/campaign_round.h"
#include "accuracy/emulated/rank_processes.h"
#include "base/error.h"
#include "program/timeline/timeline_fields.h"

namespace shardsim {
namespace {

std::vector<Timeline> as_rank(const std::vector<ProgramRun>& runs, const ExecuteOptions& options) {
  const auto rendezvous = Rendezvous::join(launch_from([](const char* name) { return std::getenv(name); }));
  std::vector<Timeline> timelines;
  for (const ProgramRun& run : runs) {
    ExecuteOptions own = options;
    own.iterations = run.iterations.value_or(options.iterations);
    timelines.push_back(execute(IterationPrograms(run.programs), *rendezvous, own, [](const Timeline&) {}));
  }
  rendezvous->leave();
  return timelines;
}

// Runs one rank, which leaves in its file its Timelines (of rank 0 alone they hold something), or why it failed.
int run_rank(const TemporaryFolder& files, const std::vector<ProgramRun>& runs, const ExecuteOptions& options,
             int rank) {
  const std::string own = std::to_string(rank);
  try {
    const std::vector<Timeline> timelines = as_rank(runs, options);
    if (rank == 0) files.put(own, packed(timelines));
    return 0;
  } catch (const Error& error) {
    files.put(own, error.what());
    return 1;
  }
}

ExecuteOptions alone_and_synchronised(int repeats) {
  ExecuteOptions options;
  options.device = "cpu";
  options.warmup = 1;
  options.iterations = repeats;
  options.apart = true;
  return options;
}

[[noreturn]] void fail(int code, const TemporaryFolder& files, int ranks) {
  for (int rank = 1; rank < ranks; ++rank) {
    const std::string said = files.text(std::to_string(rank));
    if (!said.empty()) throw run_error(fmt::format("the ranks of the emulated cluster failed: {}", said), "");
  }
  throw run_error(fmt::format("a rank of the emulated cluster ended with code {}", code), files.text("0"));
}

}  // namespace

std::vector<Timeline> observe_programs(EmulatedCluster& cluster, const std::vector<ProgramRun>& runs,
                                       const ExecuteOptions& options, const std::function<bool()>& interrupted) {
  const TemporaryFolder files(kSharedMemory);
  const int code = cluster.run_ranks([&](int rank) { return run_rank(files, runs, options, rank); }, interrupted);
  if (code != 0) fail(code, files, cluster.shape().ranks.world_size());
  return unpacked<std::vector<Timeline>>(files.text("0"));
}

ObserveItems observer_of(EmulatedCluster& cluster, const std::function<bool()>& interrupted) {
  return [&cluster, interrupted](const std::vector<CampaignItem>& items, int repeats) {
    std::vector<ProgramRun> runs;
    for (const CampaignItem& item : items) runs.push_back({{item.program}});
    return observe_programs(cluster, runs, alone_and_synchronised(repeats), interrupted);
  };
}

}  // namespace shardsim
