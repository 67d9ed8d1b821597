#pragma once

#include <vector>

namespace shardsim::golden {

// Share of lookups that miss a cache, from the histogram of a miss-ratio curve over cached rows, in single precision as
// TorchRec's EmbeddingOffloadStats computes it.
class MissRatioCurve {
 public:
  // `counts` over bins of equal width from 0 to `height` rows.
  MissRatioCurve(const std::vector<double>& counts, double height);
  // The same with the edges of the bins given: one more than counts.
  MissRatioCurve(const std::vector<double>& counts, std::vector<float> edges);

  float at_load_factor(double load_factor) const;
  float at_rows(float cached_rows) const;

 private:
  std::vector<float> edges_, rates_;
  double height_ = 0;
  bool empty_ = false;  // nothing was counted
};

}  // namespace shardsim::golden
