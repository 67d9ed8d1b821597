#include <cmath>
#include <cstdint>

#include "base/rng.h"
#include "tests/validate/execute/kernels/cuda_checks.h"
#include "tests/validate/execute/kernels/embedding_reference.h"
#include "validate/execute/kernels/cuda_embedding.h"

namespace shardsim {
namespace {

using cuda::DeviceBuffer;

constexpr std::int64_t kDim = 64;
constexpr std::uint64_t kSeed = 5;

// A table that is looked at in a few far rows.
struct FarTable {
  ElementType type;
  std::int64_t rows;
  DeviceBuffer arena;

  std::int64_t row_bytes() const { return kDim * element_bytes(type); }
  // First, last, and those around the middle, where the 2^31st element lies in a table of 2^32.
  std::vector<std::int64_t> seen() const { return {rows - 1, rows / 2 - 501, rows / 2, 0, rows - 999}; }
  // The element as the fill kernel defines it, before it is rounded to its type.
  static double exact(std::int64_t row, std::int64_t column) {
    const auto i = static_cast<std::uint64_t>(row) * kDim + static_cast<std::uint64_t>(column);
    return static_cast<double>(mix(kSeed + i, kGolden) >> 40) * 0x1p-24 - 0.5;
  }
};

std::string row_fault(const FarTable& table, const std::vector<double>& got, double more) {
  const std::vector<std::int64_t> rows = table.seen();
  for (std::size_t i = 0; i < got.size(); ++i) {
    const std::int64_t row = rows[i / kDim];
    const double value = FarTable::exact(row, static_cast<std::int64_t>(i) % kDim) + more;
    if (std::abs(got[i] - value) > 2 * reference::rounding(table.type) * (std::abs(value) + std::abs(more)))
      return "row " + std::to_string(row) + " is not itself";
  }
  return {};
}

std::vector<double> numbers_of(const FarTable& table, const DeviceBuffer& rows) {
  const std::vector<unsigned char> bytes = from_device<unsigned char>(rows);
  std::vector<double> numbers;
  for (std::int64_t i = 0; i < static_cast<std::int64_t>(bytes.size()) / element_bytes(table.type); ++i)
    numbers.push_back(reference::element(table.type, bytes.data(), i));
  return numbers;
}

std::string gathered_fault(const FarTable& table, double more) {
  const std::vector<std::int64_t> rows = table.seen();
  const DeviceBuffer indices = on_device(rows),
                     out(rows.size() * static_cast<std::size_t>(table.row_bytes()), "a check");
  cuda::gather_rows(table.row_bytes(), table.arena.data(), indices.as<std::int64_t>(),
                    static_cast<std::int64_t>(rows.size()), out.data(), nullptr);
  return row_fault(table, numbers_of(table, out), more);
}

// Bags of one row each.
std::string pooled_fault(const FarTable& table) {
  const std::vector<std::int64_t> rows = table.seen();
  std::vector<std::int64_t> ends;
  for (std::size_t i = 0; i <= rows.size(); ++i) ends.push_back(static_cast<std::int64_t>(i));
  TableBatch batch;
  batch.type = table.type;
  batch.rows = {table.rows};
  batch.dim = {kDim};
  batch.begin = {0};
  batch.bags = static_cast<std::int64_t>(rows.size());
  const cuda::DeviceTables tables(batch);
  const DeviceBuffer indices = on_device(rows), offsets = on_device(ends),
                     out(rows.size() * kDim * sizeof(float), "a check");
  cuda::pooled_lookup(tables, table.arena.data(), indices.as<std::int64_t>(), offsets.as<std::int64_t>(),
                      out.as<float>(), nullptr);
  const std::vector<float> got = from_device<float>(out);
  return row_fault(table, {got.begin(), got.end()}, 0);
}

// One is taken from every row seen.
std::string updated_fault(const FarTable& table) {
  const std::vector<std::int64_t> rows = table.seen();
  const auto count = static_cast<std::int64_t>(rows.size());
  const DeviceBuffer indices = on_device(rows), gradients = on_device(std::vector<float>(rows.size() * kDim, 1.0F));
  const cuda::UpdateWorkspace workspace(count, kDim);
  OptimizerSettings settings;
  settings.learning_rate = 1;
  cuda::update_rows(table.type, table.rows, kDim, table.arena.data(), nullptr, indices.as<std::int64_t>(), count,
                    gradients.as<float>(), settings, workspace, nullptr);
  return gathered_fault(table, -1);
}

void check_table(CheckTally& tally, const std::string& what, ElementType type, std::int64_t rows) {
  constexpr std::size_t kBeside = std::size_t{1} << 30;
  const auto bytes = static_cast<std::size_t>(rows * kDim * element_bytes(type));
  std::size_t free = 0, total = 0;
  cuda::check(cudaMemGetInfo(&free, &total), "free memory");
  if (bytes > kBeside && free < bytes + kBeside) {
    std::printf("left out: %s, which needs %.1f GiB and %.1f are free\n", what.c_str(),
                static_cast<double>(bytes) * 0x1p-30, static_cast<double>(free) * 0x1p-30);
    return;
  }
  const FarTable table{type, rows, DeviceBuffer(bytes, "the check of a large table")};
  cuda::fill(type, rows * kDim, kSeed, table.arena.data(), nullptr);
  tally.record(what + ", gathered", gathered_fault(table, 0));
  tally.record(what + ", pooled", pooled_fault(table));
  tally.record(what + ", updated", updated_fault(table));
}

}  // namespace

void check_large_tables(CheckTally& tally) {
  constexpr std::int64_t kFar = (std::int64_t{1} << 32) / kDim + 1000;
  check_table(tally, "a table of 4,000 rows", ElementType::fp32, 4000);
  check_table(tally, "a table of more than 2^32 elements", ElementType::bf16, kFar);
  check_table(tally, "a table of 21.5 GB", ElementType::fp32, kFar * 5 / 4);
}

}  // namespace shardsim
