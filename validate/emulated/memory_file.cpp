#include "validate/emulated/memory_file.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/error.h"

namespace shardsim {

MemoryFile::MemoryFile() : descriptor_(::memfd_create("shardsim", MFD_CLOEXEC)) {
  if (descriptor_ < 0) throw run_error(std::string("cannot make a file in memory: ") + std::strerror(errno), "");
}

MemoryFile::~MemoryFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

MemoryFile::MemoryFile(MemoryFile&& other) noexcept : descriptor_(other.descriptor_) {
  other.descriptor_ = -1;
}

void MemoryFile::write(std::string_view text) {
  for (std::size_t done = 0; done < text.size();) {
    const ssize_t wrote = ::pwrite(descriptor_, text.data() + done, text.size() - done, static_cast<off_t>(done));
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) throw run_error(std::string("cannot write a file in memory: ") + std::strerror(errno), "");
    done += static_cast<std::size_t>(wrote);
  }
}

std::string MemoryFile::read() const {
  std::string text;
  char buffer[1 << 14];
  for (;;) {
    const ssize_t got = ::pread(descriptor_, buffer, sizeof buffer, static_cast<off_t>(text.size()));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return text;
    text.append(buffer, static_cast<std::size_t>(got));
  }
}

}  // namespace shardsim
