#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <new>
#include <string>
#include <thread>

#include "base/error.h"

namespace shardsim::system_failure_test {
namespace {

struct Ended {
  int status = 0;
  std::string said;  // on stderr
};

Ended in_child(void (*body)()) {
  std::array<int, 2> ends{};
  REQUIRE(::pipe(ends.data()) == 0);
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    ::dup2(ends[1], STDERR_FILENO);
    ::close(ends[0]);
    ::close(ends[1]);
    body();
    ::_exit(0);
  }
  ::close(ends[1]);
  Ended ended;
  std::array<char, 256> some{};
  for (ssize_t got = 0; (got = ::read(ends[0], some.data(), some.size())) > 0;) ended.said.append(some.data(), got);
  ::close(ends[0]);
  ::waitpid(child, &ended.status, 0);
  return ended;
}

}  // namespace

TEST_CASE("lack of memory in a thread that nobody watches is one line and exit code 1") {
  const Ended ended = in_child([] {
    end_where_memory_lacks_anywhere();
    std::thread([] { throw std::bad_alloc(); }).join();
  });
  CHECK(WIFEXITED(ended.status));
  CHECK(WEXITSTATUS(ended.status) == 1);
  CHECK(ended.said == "error: " + std::string(out_of_memory().what()) + "\n");
}

}  // namespace shardsim::system_failure_test
