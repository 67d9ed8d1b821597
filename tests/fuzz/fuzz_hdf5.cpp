// Any bytes as each kind of HDF5 file that is read: access counts, timelines, cost models and policies. A value or an
// Error that names the file, never a crash of this process: what anybody may have written is read in a process of its
// own, for the HDF5 library itself breaks down over some files.
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "models/access/access_counts.h"
#include "models/learned/cost_model.h"
#include "plan/autoshard/policy.h"
#include "plan/dreamshard/placing_policy.h"
#include "program/timeline/timeline_file.h"
#include "tests/fuzz/error_at_most.h"
#include "tests/fuzz/memory_file.h"

using shardsim::fuzz::expect_error_at_most;

namespace {

constexpr std::uint64_t kRows = 16;  // of the tables in the seeds

void read_counts(const std::string& path) {
  const std::vector<double> probabilities = shardsim::read_access_counts(path, "t", kRows);
  if (probabilities.size() != kRows) std::abort();
  for (const double p : probabilities)
    if (!std::isfinite(p) || p < 0) std::abort();
}

void read_timelines(const std::string& path) {
  for (const std::string& name : shardsim::timeline_cases(path))
    if (!shardsim::timeline_fault(shardsim::read_timeline(path, name)).text.empty()) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const shardsim::fuzz::MemoryFile file(data, size);
  expect_error_at_most([&] { read_counts(file.path()); });
  expect_error_at_most([&] { read_timelines(file.path()); });
  expect_error_at_most([&] { shardsim::read_cost_model(file.path()); });
  expect_error_at_most([&] { shardsim::read_policy(file.path()); });
  expect_error_at_most([&] { shardsim::read_placing_policy(file.path()); });
  return 0;
}
