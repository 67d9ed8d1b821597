#include "sim/engine/utilisation.h"

#include <algorithm>

namespace shardsim {

std::vector<double> link_seconds(const std::vector<OpWork>& works, const Cluster& cluster) {
  std::vector<double> busy(cluster.links().size(), 0.0);
  for (const OpWork& work : works) {
    for (const OpWork::Call& call : work.calls) {
      for (const LinkLoad& load : call.loads.loads) {
        busy[load.link] += load.occupancy / cluster.links()[load.link].rate.bytes_per_second;
      }
    }
  }
  return busy;
}

Utilisation busiest_link(const std::vector<double>& busy, const Cluster& cluster, double seconds) {
  if (busy.empty()) return {};
  const double least = (1 - 1e-9) * *std::max_element(busy.begin(), busy.end());
  const auto first = std::find_if(busy.begin(), busy.end(), [&](double each) { return each >= least; });
  return {cluster.links()[first - busy.begin()].name, *first / seconds};
}

Utilisation busiest_rank(const Program& program, const std::vector<OpWork>& works, double iteration_seconds) {
  const auto ranks = static_cast<std::size_t>(program.world_size);
  std::vector<double> busy(ranks * program.streams.size(), 0.0);  // [stream][rank]
  for (const Op& op : program.ops) {
    const std::vector<double>& seconds = works[static_cast<std::size_t>(op.id)].seconds;
    const std::size_t stream = static_cast<std::size_t>(op.stream) * ranks;
    for (std::size_t rank = 0; rank < seconds.size(); ++rank) busy[stream + rank] += std::max(seconds[rank], 0.0);
  }
  const auto most = std::max_element(busy.begin(), busy.end());
  const auto at = static_cast<std::size_t>(most - busy.begin());
  return {"rank " + std::to_string(at % ranks) + " " + program.streams[at / ranks], *most / iteration_seconds};
}

}  // namespace shardsim
