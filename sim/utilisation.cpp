#include "sim/utilisation.h"

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

Utilisation busiest_rank(const std::vector<OpWork>& works, int world_size, double iteration_seconds) {
  std::vector<double> busy(world_size, 0.0);
  for (const OpWork& work : works) {
    for (std::size_t rank = 0; rank < work.seconds.size(); ++rank) busy[rank] += std::max(work.seconds[rank], 0.0);
  }
  const auto most = std::max_element(busy.begin(), busy.end());
  return {"rank " + std::to_string(most - busy.begin()) + " compute", *most / iteration_seconds};
}

}  // namespace shardsim
