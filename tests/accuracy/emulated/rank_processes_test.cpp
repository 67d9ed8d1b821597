#include "accuracy/emulated/rank_processes.h"

#include <doctest/doctest.h>
#include <signal.h>
#include <unistd.h>

#include <cstdlib>

#include "base/error.h"
#include "base/stop_signals.h"
#include "base/workers.h"

namespace shardsim::rank_processes_test {

TEST_CASE("ranks that all return 0 make 0") {
  RankProcesses ranks(3, [](int) { return 0; });
  CHECK(ranks.wait({}) == 0);
}

TEST_CASE("the first failure in time gives the code") {
  RankProcesses ranks(3, [](int rank) {
    if (rank == 0) ::sleep(1);
    return rank == 1 ? 0 : 10 + rank;
  });
  CHECK(ranks.wait({}) == 12);
}

TEST_CASE("a rank that is killed counts as 128 and the signal") {
  RankProcesses ranks(2, [](int rank) {
    if (rank == 1) ::raise(SIGKILL);
    return 0;
  });
  CHECK(ranks.wait({}) == 128 + SIGKILL);
}

TEST_CASE("ranks that wait for one that failed are ended, also those that ignore SIGTERM") {
  RankProcesses ranks(3, [](int rank) {
    if (rank == 0) return 5;
    if (rank == 1) ::signal(SIGTERM, SIG_IGN);
    for (;;) ::pause();
  });
  CHECK(ranks.wait({0.1, 0.1, {}}) == 5);
}

TEST_CASE("an interrupt ends every rank") {
  RankProcesses ranks(2, [](int) -> int {
    for (;;) ::pause();
  });
  CHECK_THROWS_AS(ranks.wait({10, 0.1, [] { return true; }}), Interrupted);
}

TEST_CASE("the environment of a rank is that of torchrun") {
  const TemporaryFolder folder;
  RankProcesses ranks(1, [&](int) {
    set_rank_environment({2, 4}, 6, "10.2.0.1");
    std::string said;
    for (const char* name : {"RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "MASTER_ADDR"}) {
      said += std::string(std::getenv(name)) + " ";
    }
    folder.put("said", said);
    return 0;
  });
  CHECK(ranks.wait({}) == 0);
  CHECK(folder.text("said") == "6 8 2 4 10.2.0.1 ");
}

TEST_CASE("a program gets its input and leaves its output and code") {
  const ProgramOutput output = run_program("cat; echo wrong >&2; exit 3", "lines\n");
  CHECK(output.code == 3);
  CHECK(output.out == "lines\n");
  CHECK(output.err == "wrong\n");
  CHECK(run_program("no_such_program_at_all").code == 127);
  CHECK(run_program("kill -9 $$").code == 137);
  const std::string much(1 << 20, 'x');
  CHECK(run_program("cat", much).out == much);
}

TEST_CASE("Ctrl-C while a program runs is not lost, even if the program ends as if nothing had been") {
  const auto stopped = [] {
    on_stop_signals(OnStop::noted);
    try {
      run_program("trap '' INT; kill -INT $PPID; true");
    } catch (const Interrupted&) {
      return std::string("stopped");
    }
    return std::string("went on");
  };
  CHECK(run_in_workers({{"a program", stopped}}, {}).front() == "stopped");
}

TEST_CASE("a folder for temporary files goes with its owner") {
  std::filesystem::path path;
  {
    const TemporaryFolder folder;
    path = folder.path("");
    CHECK(std::filesystem::is_directory(path));
  }
  CHECK_FALSE(std::filesystem::exists(path));
}

}  // namespace shardsim::rank_processes_test
