#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "base/error.h"
#include "validate/emulated/rank_processes.h"

namespace shardsim {
namespace {

[[noreturn]] void become(const std::vector<std::string>& command, int in, int out, int err) {
  ::dup2(in, STDIN_FILENO);
  ::dup2(out, STDOUT_FILENO);
  ::dup2(err, STDERR_FILENO);
  const char* path = std::getenv("PATH");
  ::setenv("PATH", (std::string(path == nullptr ? "/usr/bin:/bin" : path) + ":/usr/sbin:/sbin").c_str(), 1);
  std::vector<char*> words;
  for (const std::string& word : command) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  ::execvp(words[0], words.data());
  const std::string why = command[0] + ": " + std::strerror(errno);
  [[maybe_unused]] const ssize_t wrote = ::write(STDERR_FILENO, why.data(), why.size());
  ::_exit(127);
}

}  // namespace

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

ProgramOutput run_program(const std::vector<std::string>& command, const std::string& input) {
  MemoryFile in, out, err;
  in.write(input);
  const pid_t process = ::fork();
  if (process < 0) throw run_error(std::string("cannot start a process: ") + std::strerror(errno), "");
  if (process == 0) become(command, in.descriptor(), out.descriptor(), err.descriptor());
  int status = 0;
  while (::waitpid(process, &status, 0) < 0 && errno == EINTR) {
  }
  return {WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status), out.read(), err.read()};
}

}  // namespace shardsim
