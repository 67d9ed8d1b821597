#include "sim/engine/limit.h"

#include <algorithm>
#include <string>

#include "program/timeline/rank_times.h"

namespace shardsim {
namespace {

constexpr double kNoTimeToSpare = 0.9;  // of the iteration: that busy, the host bounds it, whatever waits for what
constexpr double kTellingWait = 0.05;   // of the iteration

// Seconds that each stream of each rank works.
struct BusyStreams {
  BusyStreams(const Program& program, const std::vector<OpWork>& works)
      : ranks(static_cast<std::size_t>(program.world_size)),
        streams(program.streams),
        seconds(ranks * program.streams.size(), 0.0) {
    for (const Op& op : program.ops) {
      const std::vector<double>& each = works[static_cast<std::size_t>(op.id)].seconds;
      const std::size_t stream = static_cast<std::size_t>(op.stream) * ranks;
      for (std::size_t rank = 0; rank < each.size(); ++rank) seconds[stream + rank] += std::max(each[rank], 0.0);
    }
  }

  Utilisation busiest(double iteration_seconds) const {
    const auto most = std::max_element(seconds.begin(), seconds.end());
    const auto at = static_cast<std::size_t>(most - seconds.begin());
    return {"rank " + std::to_string(at % ranks) + " " + streams[at / ranks], *most / iteration_seconds};
  }

  void leave_out(std::size_t stream) {
    const auto first = seconds.begin() + static_cast<std::ptrdiff_t>(stream * ranks);
    std::fill(first, first + static_cast<std::ptrdiff_t>(ranks), 0.0);
  }

  std::size_t ranks;
  std::vector<std::string> streams;
  std::vector<double> seconds;  // [stream][rank]
};

bool some_gpu_waits(const Timeline& timeline) {
  const std::vector<HostShare> hosts = host_times_of(timeline);
  return std::ranges::any_of(
      hosts, [&](const HostShare& host) { return host.waited_for_ms > kTellingWait * timeline.iteration_ms; });
}

}  // namespace

Utilisation limiting_rank(const Program& program, const std::vector<OpWork>& works, const Timeline& timeline,
                          double iteration_seconds) {
  BusyStreams busy(program, works);
  const Utilisation busiest = busy.busiest(iteration_seconds);
  const auto launches = std::ranges::find(program.streams, kLaunchStream);
  if (launches == program.streams.end() || busiest.share >= kNoTimeToSpare) return busiest;
  if (!busiest.what.ends_with(" " + std::string(kLaunchStream)) || some_gpu_waits(timeline)) return busiest;
  busy.leave_out(static_cast<std::size_t>(launches - program.streams.begin()));
  return busy.busiest(iteration_seconds);
}

}  // namespace shardsim
