#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <string_view>

namespace shardsim {

// What device memory holds (docs/lowering.md, "What device memory holds"). The first four stay for the whole run.
enum class MemoryPart {
  tables,           // rows of embedding tables, of a cached table its cache
  optimizer,        // state of these rows
  cache,            // bookkeeping of caches
  dense,            // parameters of the dense part, and their optimizer state
  inputs,           // ids, lengths and weights of the batch that is trained
  inputs_ahead,     // the same of batches that a pipeline prepares
  lookup_output,    // vectors that this rank looked up, for all whom it serves
  output,           // vectors of the own batch, as received and in order
  gradients,        // of these vectors: of the own batch, and as the owners receive them
  table_gradients,  // dense gradients of replicated tables and of the kernel dense
  dense_gradients   // of the dense part
};

inline constexpr std::size_t kMemoryParts = 11;
inline constexpr std::size_t kResidentParts = 4;

// As in result files.
inline constexpr std::array<std::string_view, kMemoryParts> kMemoryPartNames = {
    "tables",        "optimizer", "cache",     "dense",           "inputs",         "inputs_ahead",
    "lookup_output", "output",    "gradients", "table_gradients", "dense_gradients"};

// Bytes of each part.
struct MemoryAmounts {
  std::array<std::int64_t, kMemoryParts> bytes{};
  std::int64_t& operator[](MemoryPart part) { return bytes[static_cast<std::size_t>(part)]; }
  std::int64_t operator[](MemoryPart part) const { return bytes[static_cast<std::size_t>(part)]; }
  std::int64_t total() const { return std::accumulate(bytes.begin(), bytes.end(), std::int64_t{0}); }
  bool operator==(const MemoryAmounts&) const = default;
};

}  // namespace shardsim
