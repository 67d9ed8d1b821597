#pragma once

namespace shardsim {

// Above what machines have: more is a slip of the pen, and would fill the memory.
inline constexpr int kMostRanks = 100'000;
inline constexpr int kMostGpusPerNode = 144;
inline constexpr int kMostNicsPerNode = 1024;
inline constexpr int kMostLinksPerGpu = 1000;  // NVLink

}  // namespace shardsim
