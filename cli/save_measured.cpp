#include "cli/save_measured.h"

#include "base/files.h"
#include "validate/measurements/microbench_hdf5.h"
#include "validate/microbench/microbench.h"

namespace shardsim {

std::vector<std::string> measured_endings() {
  return {".h5", ".json", ".csv"};
}

void save_measured(const MeasuredSet& set, const std::string& path) {
  if (path.ends_with(".h5")) return save_measured_hdf5(set, path);
  write_file(path, path.ends_with(".csv") ? measured_csv(set) : measured_json(set));
}

}  // namespace shardsim
