// Any bytes as measurements, in each of their three forms, and as a map of their systems: rows that make sense, or an
// Error.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "accuracy/measurements/read/measurements.h"
#include "accuracy/measurements/read/system_map.h"
#include "base/tree/yaml.h"
#include "tests/fuzz/error_at_most.h"

namespace {

void check(const shardsim::Measurements& measurements) {
  for (const shardsim::MeasuredRow& row : measurements.rows) {
    const bool has_sense = !row.system.empty() && row.nodes >= 0 && row.calls > 0 && (!row.bytes || *row.bytes > 0) &&
                           (!row.time || row.time->value > 0);
    if (!has_sense) std::abort();
  }
}

using shardsim::fuzz::expect_error_at_most;

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  expect_error_at_most([&] { check(shardsim::read_measurement_csv(text, "fuzz.csv")); });
  expect_error_at_most([&] { check(shardsim::read_nccl_tests_text(text, "all_reduce.txt", {})); });
  expect_error_at_most([&] { check(shardsim::read_nccl_tests_json(text, "all_reduce.json", {})); });
  expect_error_at_most([&] { shardsim::system_map_from_tree(shardsim::parse_yaml(text, "fuzz.yaml"), "fuzz.yaml"); });
  return 0;
}
