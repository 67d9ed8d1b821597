#pragma once

#include <vector>

namespace shardsim::torchrec {

// How uneven a load lies over ranks (planner/stats.py). The values are first scaled to sum 1.
struct Imbalance {
  double total_variation = 0;  // largest distance of a share from 1/k; TorchRec's is a maximum, not half a sum
  double total_distance = 0;   // sum of the distances
  double chi_raw = 0, chi_most = 0;
  double kl_raw = 0, kl_most = 0;

  double chi() const { return chi_most == 0 ? 0 : chi_raw / chi_most; }  // as statistics show it, 0 to 1
  double kl() const { return kl_most == 0 ? 0 : kl_raw / kl_most; }
};

// `values` not empty, not negative, with a sum above 0.
Imbalance imbalance(const std::vector<double>& values);

}  // namespace shardsim::torchrec
