// Any bytes as each of the tables and sets that are read by path: measured kernels and their map, residuals of
// published times, shards and their labels. Values that make sense, or an Error.
#include <sys/mman.h>
#include <unistd.h>

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "plan/learned/label_file.h"
#include "sim/confidence/residuals.h"
#include "tests/fuzz/error_at_most.h"
#include "validate/measurements/kernels/kernel_map.h"
#include "validate/measurements/kernels/kernel_rows.h"

using shardsim::fuzz::expect_error_at_most;

namespace {

// A file in memory, by its path.
class MemoryFile {
 public:
  MemoryFile(const std::uint8_t* data, std::size_t size) : file_(::memfd_create("fuzz", MFD_CLOEXEC)) {
    if (file_ < 0 || ::write(file_, data, size) != static_cast<ssize_t>(size)) std::abort();
  }
  ~MemoryFile() { ::close(file_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  std::string path() const { return "/proc/self/fd/" + std::to_string(file_); }

 private:
  int file_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const MemoryFile file(data, size);
  expect_error_at_most([&] {
    for (const shardsim::KernelRow& row :
         shardsim::kernel_rows_of({reinterpret_cast<const char*>(data), size}, "fuzz.csv"))
      if (row.out_of_model.empty() && !std::isfinite(row.operand_bytes())) std::abort();
  });
  expect_error_at_most([&] { shardsim::read_kernel_map(file.path()); });
  expect_error_at_most([&] { shardsim::residuals_of({reinterpret_cast<const char*>(data), size}, "fuzz.csv"); });
  expect_error_at_most([&] { shardsim::label_file_text(shardsim::read_label_file(file.path())); });
  return 0;
}
