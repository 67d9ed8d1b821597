#include "base/child_process.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

#include "base/error.h"

namespace shardsim {
namespace {

Error no_process(const std::string& what, int error_number) {
  return run_error(what + ": " + std::strerror(error_number),
                   "Allow more processes (ulimit -u), open files (ulimit -n) and memory (ulimit -v)");
}

// While it lives SIGINT and SIGTERM wait: a new child must not run this process's handlers.
class SignalsHeld {
 public:
  SignalsHeld() {
    sigset_t both;
    sigemptyset(&both);
    sigaddset(&both, SIGINT);
    sigaddset(&both, SIGTERM);
    ::pthread_sigmask(SIG_BLOCK, &both, &before_);
  }
  ~SignalsHeld() { release(); }
  SignalsHeld(const SignalsHeld&) = delete;
  SignalsHeld& operator=(const SignalsHeld&) = delete;
  void release() const { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_{};
};

[[noreturn]] void live_as(const std::function<int()>& body, ChildProcess::Interrupts interrupts, pid_t parent,
                          const SignalsHeld& held) noexcept {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // a killed parent cannot end its children itself
  // It died before that took effect. The first process of another PID name space, and those beside it, are told 0 while
  // their parent lives.
  if (const pid_t living = ::getppid(); living != parent && living != 0) ::_exit(1);
  ::signal(SIGINT, interrupts == ChildProcess::Interrupts::ignored ? SIG_IGN : SIG_DFL);
  ::signal(SIGTERM, SIG_DFL);
  held.release();
  ::_exit(body());
}

}  // namespace

ChildProcess::ChildProcess(const std::function<int()>& body, Interrupts interrupts) {
  std::fflush(nullptr);
  const SignalsHeld held;
  const pid_t parent = ::getpid();
  process_ = ::fork();
  if (process_ == 0) live_as(body, interrupts, parent, held);
  if (process_ < 0) throw no_process("cannot start a process", errno);
}

ChildProcess::~ChildProcess() {
  kill_and_reap();
}

ChildProcess::ChildProcess(ChildProcess&& other) noexcept : process_(std::exchange(other.process_, 0)) {}

ChildProcess& ChildProcess::operator=(ChildProcess&& other) noexcept {
  if (this == &other) return *this;
  kill_and_reap();
  process_ = std::exchange(other.process_, 0);
  return *this;
}

void ChildProcess::kill_and_reap() {
  if (process_ <= 0) return;
  ::kill(process_, SIGKILL);
  wait();
}

std::optional<int> ChildProcess::ended() {
  int status = 0;
  if (process_ <= 0 || ::waitpid(process_, &status, WNOHANG) != process_) return std::nullopt;
  process_ = 0;
  return status;
}

int ChildProcess::wait() {
  int status = 0;
  while (::waitpid(process_, &status, 0) < 0 && errno == EINTR) {
  }
  process_ = 0;
  return status;
}

void ChildProcess::signal(int number) const {
  if (process_ > 0) ::kill(process_, number);
}

bool write_whole(int file, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t wrote = ::write(file, bytes.data(), bytes.size());
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(wrote));
  }
  return true;
}

bool read_whole(int file, void* to, std::size_t bytes) {
  char* next = static_cast<char*>(to);
  while (bytes > 0) {
    const ssize_t got = ::read(file, next, bytes);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    next += got;
    bytes -= static_cast<std::size_t>(got);
  }
  return true;
}

Pipe::Pipe() {
  if (::pipe2(ends_, O_CLOEXEC) != 0) throw no_process("cannot make a pipe", errno);
}

Pipe::~Pipe() {
  close_read_end();
  close_write_end();
}

void Pipe::close_end(int end) {
  if (ends_[end] >= 0) ::close(std::exchange(ends_[end], -1));
}

}  // namespace shardsim
