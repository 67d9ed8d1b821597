#pragma once

#include <cstddef>
#include <utility>

namespace shardsim {

// Memory of a CPU device: zeroed, on large pages where the system gives them, so that random rows do not time the
// address translation of small ones. Errors: Failure::run when there is not so much.
class BenchMemory {
 public:
  BenchMemory() = default;
  explicit BenchMemory(std::size_t bytes);
  ~BenchMemory();
  BenchMemory(BenchMemory&& other) noexcept { swap(other); }
  BenchMemory& operator=(BenchMemory&& other) noexcept {
    swap(other);
    return *this;
  }

  std::byte* data() const { return data_; }
  std::size_t bytes() const { return bytes_; }
  template <typename Number>
  Number* as() const {
    return reinterpret_cast<Number*>(data_);
  }

 private:
  void swap(BenchMemory& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
  }

  std::byte* data_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace shardsim
