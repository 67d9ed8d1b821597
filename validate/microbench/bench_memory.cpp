#include "validate/microbench/bench_memory.h"

#include <fmt/format.h>
#include <sys/mman.h>

#include <cerrno>
#include <cstring>

#include "base/error.h"

namespace shardsim {

BenchMemory::BenchMemory(std::size_t bytes) : bytes_(bytes) {
  if (bytes == 0) return;
  void* const mapped = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED)
    throw run_error(fmt::format("{} MB of memory: {}", bytes / 1'000'000, std::strerror(errno)),
                    "Free memory, or run a smaller sweep (--quick)");
  data_ = static_cast<std::byte*>(mapped);
  madvise(data_, bytes, MADV_HUGEPAGE);  // a wish: where it is not granted, small pages serve
  std::memset(data_, 0, bytes);
}

BenchMemory::~BenchMemory() {
  if (data_ != nullptr) munmap(data_, bytes_);
}

}  // namespace shardsim
