#include "validate/emulated/child_program.h"

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "base/error.h"
#include "validate/emulated/memory_file.h"

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
