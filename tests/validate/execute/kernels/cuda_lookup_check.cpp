#include <cmath>
#include <cstdint>

#include "tests/validate/execute/kernels/cuda_check_batch.h"
#include "tests/validate/execute/kernels/cuda_checks.h"
#include "tests/validate/execute/kernels/embedding_reference.h"
#include "validate/execute/kernels/cuda_embedding.h"

namespace shardsim {
namespace {

using cuda::DeviceBuffer;

std::string differences(const std::vector<float>& got, const reference::PooledResult& expected) {
  for (std::size_t i = 0; i < got.size(); ++i) {
    // A sum of n numbers is off by at most n 2^-24 of the sum of their absolute values; n is at most 150 here. A
    // product with a weight below the least normal number is off by at most half of the least one, 2^-149.
    if (std::abs(got[i] - expected.out[i]) <= 0x1p-16 * expected.magnitude[i] + 0x1p-146) continue;
    return "element " + std::to_string(i) + " is " + std::to_string(got[i]) + ", not " +
           std::to_string(expected.out[i]);
  }
  return {};
}

std::string lookup_fault(const RandomBatch& batch, bool weighted = false) {
  const cuda::DeviceTables tables(batch.tables);
  const DeviceBuffer arena = on_device(batch.arena), indices = on_device(batch.indices),
                     offsets = on_device(batch.offsets);
  const DeviceBuffer out(static_cast<std::size_t>(batch.tables.bags * batch.tables.output_dim()) * sizeof(float),
                         "a check");
  std::vector<float> weights;
  for (std::size_t i = 0; weighted && i < batch.indices.size(); ++i)
    weights.push_back(0.25F + static_cast<float>(i % 7) / 3);
  const DeviceBuffer factors = on_device(weights);
  cuda::pooled_lookup(tables, arena.data(), indices.as<std::int64_t>(), offsets.as<std::int64_t>(), out.as<float>(),
                      nullptr, factors.as<float>());
  return differences(from_device<float>(out),
                     reference::pooled_lookup(batch.tables, batch.arena.data(), batch.indices, batch.offsets, weights));
}

std::string gather_fault(ElementType type, std::int64_t rows, std::int64_t dim, std::int64_t count) {
  Rng rng(static_cast<std::uint64_t>(dim));
  const auto row_bytes = static_cast<std::size_t>(dim * element_bytes(type));
  std::vector<unsigned char> arena(static_cast<std::size_t>(rows) * row_bytes);
  for (unsigned char& byte : arena) byte = static_cast<unsigned char>(rng.next());
  std::vector<std::int64_t> indices;
  for (std::int64_t i = 0; i < count; ++i)
    indices.push_back(i % 5 == 0 ? rows - 1 : static_cast<std::int64_t>(rng.below(static_cast<std::uint64_t>(rows))));
  const DeviceBuffer from = on_device(arena), asked = on_device(indices),
                     out(static_cast<std::size_t>(count) * row_bytes, "a check");
  cuda::gather_rows(static_cast<std::int64_t>(row_bytes), from.data(), asked.as<std::int64_t>(), count, out.data(),
                    nullptr);
  const std::vector<unsigned char> got = from_device<unsigned char>(out);
  for (std::int64_t i = 0; i < count; ++i) {
    const auto at = static_cast<std::size_t>(i) * row_bytes, row = static_cast<std::size_t>(indices[i]) * row_bytes;
    if (!std::equal(got.begin() + at, got.begin() + at + row_bytes, arena.begin() + row))
      return "request " + std::to_string(i) + " got another row than " + std::to_string(indices[i]);
  }
  return {};
}

// Elements as the fill kernel defines them.
float filled(std::uint64_t seed, std::uint64_t i) {
  return static_cast<float>(mix(seed + i, kGolden) >> 40) * 0x1p-24F - 0.5F;
}

std::string fill_fault(ElementType type, std::int64_t elements) {
  const DeviceBuffer arena(static_cast<std::size_t>(elements * element_bytes(type)), "a check");
  cuda::fill(type, elements, 77, arena.data(), nullptr);
  const std::vector<unsigned char> got = from_device<unsigned char>(arena);
  for (std::int64_t i = 0; i < elements; ++i) {
    const double exact = filled(77, static_cast<std::uint64_t>(i)), value = reference::element(type, got.data(), i);
    if (std::abs(value - exact) > reference::rounding(type) * std::abs(exact) * 1.001)
      return "element " + std::to_string(i) + " is " + std::to_string(value) + ", not " + std::to_string(exact);
  }
  return {};
}

}  // namespace

void check_lookups(CheckTally& tally) {
  for (const ElementType type : kElementTypes)
    for (const std::vector<std::int64_t>& dims : dims_to_check())
      for (std::uint64_t seed = 1; seed <= 3; ++seed) {
        const std::string what = std::string("pooled lookup, ") + type_name(type) + ", " + dims_text(dims);
        tally.record(what + ", aligned", lookup_fault(aligned_batch(type, seed, dims)));
        tally.record(what + ", not aligned", lookup_fault(random_batch(type, seed, dims)));
        tally.record(what + ", weighted", lookup_fault(aligned_batch(type, seed, dims), true));
        tally.record(what + ", weighted, not aligned", lookup_fault(random_batch(type, seed, dims), true));
        tally.record(what + ", long bags", lookup_fault(aligned_batch(type, seed, dims, 150)));
        tally.record(what + ", long weighted bags", lookup_fault(aligned_batch(type, seed, dims, 150), true));
      }
}

void check_gathers(CheckTally& tally) {
  for (const ElementType type : kElementTypes)
    for (const std::int64_t dim : {1, 2, 3, 4, 8, 16, 64, 67, 128, 256, 1000})
      for (const std::int64_t count : {1, 3, 130})
        tally.record(std::string("gather, ") + type_name(type) + ", dim " + std::to_string(dim),
                     gather_fault(type, 211, dim, count));
}

void check_fill(CheckTally& tally) {
  for (const ElementType type : kElementTypes)
    for (const std::int64_t elements : {1, 255, 256, 5000})
      tally.record(std::string("fill, ") + type_name(type), fill_fault(type, elements));
}

}  // namespace shardsim
