#pragma once

#include <string>
#include <string_view>

namespace shardsim {

// A file without a name, in memory, that processes forked from this one share.
class MemoryFile {
 public:
  MemoryFile();  // errors: Failure::run
  ~MemoryFile();
  MemoryFile(MemoryFile&& other) noexcept;
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  int descriptor() const { return descriptor_; }
  void write(std::string_view text);  // all of the file, from its start; left at its start. Errors: Failure::run
  std::string read() const;           // all of it

 private:
  int descriptor_ = -1;
};

}  // namespace shardsim
