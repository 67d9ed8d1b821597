// Any bytes as each of the tables and sets that commands read: measured kernels and their map, residuals of published
// times, shards and their labels, measured embeddings, constants of GPUs, presets of software. Values that make sense,
// or an Error.
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "accuracy/measurements/kernels/kernel_rows.h"
#include "base/csv.h"
#include "base/tree/yaml.h"
#include "models/compute/embedding_measurements.h"
#include "models/compute/gpus/gpu_constants.h"
#include "models/learned/label_file.h"
#include "models/software/software.h"
#include "study/confidence/residuals.h"
#include "tests/fuzz/error_at_most.h"
#include "tests/fuzz/memory_file.h"

using shardsim::fuzz::expect_error_at_most;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const shardsim::fuzz::MemoryFile file(data, size);
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  expect_error_at_most([&] {
    for (const shardsim::KernelRow& row : shardsim::kernel_rows_of(text, "fuzz.csv"))
      if (row.out_of_model.empty() && !std::isfinite(row.operand_bytes())) std::abort();
  });
  expect_error_at_most([&] { shardsim::read_kernel_map(file.path()); });
  expect_error_at_most([&] { shardsim::residuals_of(text, "fuzz.csv"); });
  expect_error_at_most([&] { shardsim::label_file_text(shardsim::read_label_file(file.path())); });
  expect_error_at_most([&] { shardsim::read_embedding_table(shardsim::parse_csv(text, "fuzz.csv")); });
  expect_error_at_most([&] { shardsim::gpu_table_from_tree(shardsim::parse_yaml(text, "fuzz.yaml"), {}); });
  expect_error_at_most([&] { shardsim::software_table_from_tree(shardsim::parse_yaml(text, "fuzz.yaml")); });
  return 0;
}
