#include "base/child_process.h"

#include <doctest/doctest.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <optional>
#include <string>
#include <utility>

namespace shardsim {
namespace {

using Interrupts = ChildProcess::Interrupts;

// Says who it is, then waits for a signal that ends it.
int tell_and_wait(const Pipe& pipe) {
  const pid_t own = ::getpid();
  write_whole(pipe.write_end(), {reinterpret_cast<const char*>(&own), sizeof own});
  for (;;) ::pause();
}

pid_t told(const Pipe& pipe) {
  pid_t process = 0;
  REQUIRE(read_whole(pipe.read_end(), &process, sizeof process));
  return process;
}

bool is_there(pid_t process) {
  return ::kill(process, 0) == 0;
}

// In another PID name space a child cannot see its parent: emulated ranks live in one.
TEST_CASE("a child whose parent is outside of its PID name space runs") {
  ChildProcess outer(
      [] {
        constexpr int kNotAllowed = 77;
        if (::unshare(CLONE_NEWUSER | CLONE_NEWPID) != 0) return kNotAllowed;
        ChildProcess inner([] { return ::getpid() == 1 ? 5 : 6; }, Interrupts::ignored);
        return WEXITSTATUS(inner.wait());
      },
      Interrupts::ignored);
  const int code = WEXITSTATUS(outer.wait());
  if (code == 77) {
    MESSAGE("this machine allows no PID name spaces");
    return;
  }
  CHECK(code == 5);
}

TEST_CASE("a child ends with the code of its body, which is told once") {
  ChildProcess child([] { return 7; }, Interrupts::ignored);
  CHECK(WEXITSTATUS(child.wait()) == 7);
  CHECK_FALSE(child.ended());
}

TEST_CASE("a child ends with its owner, and is reaped") {
  const Pipe pipe;
  pid_t process = 0;
  {
    ChildProcess child([&] { return tell_and_wait(pipe); }, Interrupts::ignored);
    process = told(pipe);
    const ChildProcess moved = std::move(child);
    CHECK(is_there(process));
  }
  CHECK_FALSE(is_there(process));
}

TEST_CASE("a child goes on when Ctrl-C is ignored, and ends by it when it is not") {
  const Pipe pipe;
  ChildProcess goes_on([&] { return tell_and_wait(pipe); }, Interrupts::ignored);
  ChildProcess ends([&] { return tell_and_wait(pipe); }, Interrupts::end_it);
  told(pipe);
  told(pipe);
  for (const ChildProcess* child : {&goes_on, &ends}) child->signal(SIGINT);
  CHECK(WTERMSIG(ends.wait()) == SIGINT);
  CHECK_FALSE(goes_on.ended());
  goes_on.signal(SIGTERM);
  CHECK(WTERMSIG(goes_on.wait()) == SIGTERM);
}

TEST_CASE("a pipe whose writers are gone ends, and what was promised is missing") {
  Pipe pipe;
  CHECK(write_whole(pipe.write_end(), "abc"));
  pipe.close_write_end();
  std::string read(4, ' ');
  CHECK_FALSE(read_whole(pipe.read_end(), read.data(), read.size()));
  CHECK(read.substr(0, 3) == "abc");
}

}  // namespace
}  // namespace shardsim
