// cli/save_measured.h on a compute node without HDF5.
#include "cli/save_measured.h"

#include "base/files.h"
#include "validate/microbench/microbench.h"

namespace shardsim {

std::vector<std::string> measured_endings() {
  return {".json", ".csv"};
}

void save_measured(const MeasuredSet& set, const std::string& path) {
  write_file(path, path.ends_with(".csv") ? measured_csv(set) : measured_json(set));
}

}  // namespace shardsim
