#include "accuracy/measurements/figures_json.h"

#include <cmath>
#include <nlohmann/json.hpp>
#include <stdexcept>

namespace shardsim {

nlohmann::ordered_json percent_json(const std::optional<double>& value) {
  if (!value) return nullptr;
  if (!std::isfinite(*value)) throw std::logic_error("a figure is not finite");
  return std::round(*value * 1e3) / 1e3;
}

nlohmann::ordered_json bands_json(const BandFigures& figures) {
  nlohmann::ordered_json bands = nlohmann::ordered_json::array();
  for (std::size_t i = 0; i < kSizeBands.size(); ++i) {
    const SizeBand& band = kSizeBands[i];
    const ErrorFigures& of_band = figures.bands[i];
    bands.push_back({{"sizes", band.name},
                     {"from_bytes", band.from},
                     {"below_bytes",
                      band.upto == kLargestSize ? nlohmann::ordered_json(nullptr) : nlohmann::ordered_json(band.upto)},
                     {"rows", of_band.rows},
                     {"median_abs_error_pct", percent_json(of_band.median_abs_pct)},
                     {"mean_abs_error_pct", percent_json(of_band.mean_abs_pct)},
                     {"p95_abs_error_pct", percent_json(of_band.p95_abs_pct)},
                     {"signed_error_pct", percent_json(of_band.signed_pct)}});
  }
  return bands;
}

}  // namespace shardsim
