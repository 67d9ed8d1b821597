#include "tests/plan/torchrec/golden/miss_ratio.h"

#include <algorithm>
#include <utility>

namespace shardsim::golden {
namespace {

// As torch.linspace: from both ends towards the middle, in single precision.
std::vector<float> even_edges(std::size_t bins, double height) {
  const auto last = static_cast<float>(height);
  const float step = last / static_cast<float>(bins);
  std::vector<float> edges(bins + 1);
  for (std::size_t i = 0; i <= bins; ++i) {
    edges[i] = i < (bins + 1) / 2 ? step * static_cast<float>(i) : last - step * static_cast<float>(bins - i);
  }
  return edges;
}

}  // namespace

MissRatioCurve::MissRatioCurve(const std::vector<double>& counts, double height)
    : MissRatioCurve(counts, even_edges(counts.size(), height)) {
  height_ = height;
}

MissRatioCurve::MissRatioCurve(const std::vector<double>& counts, std::vector<float> edges) : edges_(std::move(edges)) {
  double sum = 0;
  for (const double count : counts) rates_.push_back(static_cast<float>(sum += count));
  empty_ = sum == 0;
  for (float& rate : rates_) rate = empty_ ? 0.0F : 1.0F - rate / static_cast<float>(sum);
  rates_.push_back(0.0F);
  rates_.push_back(1.0F);
}

float MissRatioCurve::at_load_factor(double load_factor) const {
  return at_rows(static_cast<float>(load_factor * height_));
}

float MissRatioCurve::at_rows(float cached_rows) const {
  if (empty_) return 0.0F;
  const auto below = std::upper_bound(edges_.begin(), edges_.end(), cached_rows - 1) - edges_.begin();
  return below == 0 ? rates_.back() : rates_.at(static_cast<std::size_t>(below - 1));
}

}  // namespace shardsim::golden
