#include <fmt/format.h>

#include <cstdlib>
#include <cstring>

#include "base/error.h"
#include "validate/emulated/campaign_round.h"
#include "validate/emulated/rank_processes.h"

namespace shardsim {
namespace {

// Timelines back to back, each after its length.
std::string packed(const std::vector<Timeline>& timelines) {
  std::string bytes;
  for (const Timeline& timeline : timelines) {
    const std::string one = to_bytes(timeline);
    const std::uint64_t length = one.size();
    bytes.append(reinterpret_cast<const char*>(&length), sizeof length);
    bytes += one;
  }
  return bytes;
}

std::vector<Timeline> unpacked(std::string_view bytes) {
  std::vector<Timeline> timelines;
  while (!bytes.empty()) {
    std::uint64_t length = 0;
    std::memcpy(&length, bytes.data(), sizeof length);
    timelines.push_back(timeline_from_bytes(bytes.substr(sizeof length, length)));
    bytes.remove_prefix(sizeof length + length);
  }
  return timelines;
}

std::vector<Timeline> as_rank(const std::vector<Program>& programs, const ExecuteOptions& options) {
  const auto rendezvous = Rendezvous::join(launch_from([](const char* name) { return std::getenv(name); }));
  std::vector<Timeline> timelines;
  for (const Program& program : programs) {
    timelines.push_back(execute(program, *rendezvous, options, [](const Timeline&) {}));
  }
  rendezvous->leave();
  return timelines;
}

// What a rank leaves in its file: its Timelines (of rank 0 alone they hold something), or why it failed.
int run_rank(MemoryFile& file, const std::vector<Program>& programs, const ExecuteOptions& options, int rank) {
  try {
    const std::vector<Timeline> timelines = as_rank(programs, options);
    if (rank == 0) file.write(packed(timelines));
    return 0;
  } catch (const Error& error) {
    file.write(error.what());
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

[[noreturn]] void fail(int code, const std::vector<MemoryFile>& files) {
  for (std::size_t rank = 1; rank < files.size(); ++rank) {
    const std::string said = files[rank].read();
    if (!said.empty()) throw run_error(fmt::format("the ranks of the emulated cluster failed: {}", said), "");
  }
  throw run_error(fmt::format("a rank of the emulated cluster ended with code {}", code), files[0].read());
}

}  // namespace

std::vector<Timeline> observe_programs(EmulatedCluster& cluster, const std::vector<Program>& programs,
                                       const ExecuteOptions& options, const EmulatedCluster::Limits& limits) {
  std::vector<MemoryFile> files(cluster.shape().ranks.world_size());
  const int code = cluster.run_ranks([&](int rank) { return run_rank(files[rank], programs, options, rank); }, limits);
  if (code != 0) fail(code, files);
  return unpacked(files[0].read());
}

ObserveItems observer_of(EmulatedCluster& cluster, const EmulatedCluster::Limits& limits) {
  return [&cluster, limits](const std::vector<CampaignItem>& items, int repeats) {
    std::vector<Program> programs;
    for (const CampaignItem& item : items) programs.push_back(item.program);
    return observe_programs(cluster, programs, alone_and_synchronised(repeats), limits);
  };
}

}  // namespace shardsim
