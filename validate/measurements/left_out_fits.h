#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/tree.h"
#include "models/collective/fitted_overheads.h"

namespace shardsim {

// What the fit to the open measurements comes to without one of its systems: that system is judged by it, so that no
// figure of it went into its own prediction.
struct LeftOutFits {
  std::vector<std::pair<std::string, FitTable>> without;  // by system label

  // The table for a system: the one fitted without it, or the whole one for a system that the fit never saw.
  const FitTable& table_for(const std::string& system) const;
  bool saw(const std::string& system) const;
};

// The shipped scenarios/measurements/left_out_fits.yaml: per system, the rows that replace those of open_data_fits().
LeftOutFits shipped_left_out_fits();

// Errors: Failure::input with place.
LeftOutFits left_out_fits_from_tree(const Tree& tree);

}  // namespace shardsim
