// On a compute node without HDF5.
#include "models/access/access_counts.h"

#include "base/error.h"

namespace shardsim {

std::vector<double> read_access_counts(const std::filesystem::path& file, const std::string& table, std::uint64_t) {
  throw input_error({file.string()}, "this build reads no HDF5, where the access counts of table '" + table + "' are",
                    "Make a program file, which includes them, with the full build: shardsim lower SCENARIO --case "
                    "NAME -o program.json");
}

}  // namespace shardsim
