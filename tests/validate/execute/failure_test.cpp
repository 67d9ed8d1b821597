#include <doctest/doctest.h>

#include <csignal>

#include "tests/base/error_text.h"
#include "tests/validate/execute/ranks.h"
#include "validate/execute/meet/rendezvous.h"

namespace shardsim::failure_test {

namespace {

std::unique_ptr<Rendezvous> join(int rank, int world_size, int port) {
  return Rendezvous::join(test::launch_of(rank, world_size, port), 30);
}

// The others' messages when `dying` of four ranks is killed in an operation that it has told them of.
std::vector<std::string> messages_when_killed(int dying, const std::vector<int>& others,
                                              const std::function<void(Rendezvous&)>& afterwards = {}) {
  const int port = test::free_port();
  const test::Process victim([&] {
    const auto rendezvous = join(dying, 4, port);
    rendezvous->doing("global_all_to_all");
    rendezvous->barrier("the start");
    rendezvous->doing("global_all_to_all");
    std::this_thread::sleep_for(std::chrono::milliseconds(500));  // until the others have been told
    raise(SIGKILL);
  });
  return test::on_threads(others, [&](int rank) {
    const auto rendezvous = join(rank, 4, port);
    rendezvous->barrier("the start");
    const std::string error = error_of([&] { rendezvous->barrier("the end"); });
    CHECK(rendezvous->failure() != "");
    CHECK(has(error_of([&] { rendezvous->all_gather("", "later"); }), rendezvous->failure()));
    if (afterwards) afterwards(*rendezvous);
    throw run_error(error, "");
  });
}

}  // namespace

TEST_CASE("a rank that is killed is named to all others, with what it did") {
  for (const std::string& message : messages_when_killed(2, {0, 1, 3}))
    CHECK(message.starts_with("rank 2 died during global_all_to_all."));
}

TEST_CASE("rank 0 killed: the others know, and each keeps what it has measured") {
  std::vector<std::vector<std::string>> kept(4);
  const auto messages = messages_when_killed(0, {1, 2, 3}, [&](Rendezvous& rendezvous) {
    const int rank = rendezvous.rank();
    kept[static_cast<std::size_t>(rank)] = rendezvous.salvage("spans of " + std::to_string(rank), 30);
  });
  for (const std::string& message : messages) CHECK(message.starts_with("rank 0 died during global_all_to_all."));
  CHECK(kept[1] == std::vector<std::string>{"", "spans of 1", "", ""});
  CHECK(kept[2] == std::vector<std::string>{"", "", "spans of 2", ""});
  CHECK(kept[3] == std::vector<std::string>{"", "", "", "spans of 3"});
}

TEST_CASE("ranks 0 and 1 killed: ranks 2 and 3 keep what they have") {
  const int port = test::free_port();
  const auto die = [&](int rank) {
    const auto rendezvous = join(rank, 4, port);
    rendezvous->barrier("the start");
    raise(SIGKILL);
  };
  const test::Process zero([&] { die(0); });
  const test::Process one([&] { die(1); });
  std::vector<std::vector<std::string>> kept(4);
  const auto errors = test::on_threads({2, 3}, [&](int rank) {
    const auto rendezvous = join(rank, 4, port);
    const std::string error = error_of([&] {
      rendezvous->barrier("the start");
      rendezvous->barrier("the end");
    });
    CHECK(has(error, "died"));
    kept[static_cast<std::size_t>(rank)] = rendezvous->salvage("of " + std::to_string(rank), 30);
  });
  CHECK(errors == std::vector<std::string>(2));
  CHECK(kept[2] == std::vector<std::string>{"", "", "of 2", ""});
  CHECK(kept[3] == std::vector<std::string>{"", "", "", "of 3"});
}

TEST_CASE("rank 0 collects after another rank has died") {
  std::vector<std::string> collected;
  messages_when_killed(3, {0, 1, 2}, [&](Rendezvous& rendezvous) {
    const auto texts = rendezvous.salvage("of " + std::to_string(rendezvous.rank()), 30);
    if (rendezvous.rank() == 0) collected = texts;
  });
  CHECK(collected == std::vector<std::string>{"of 0", "of 1", "of 2", ""});
}

TEST_CASE("a rank that cannot go on says why to all, and reactions run once") {
  std::atomic<int> reactions = 0;
  const auto errors = test::in_world(4, [&](Rendezvous& rendezvous) {
    rendezvous.on_failure([&](const std::string& why) {
      CHECK(why == "rank 1 failed during lookup: out of memory");
      ++reactions;
    });
    rendezvous.barrier("the start");
    if (rendezvous.rank() == 1) {
      rendezvous.fail("out of memory", "lookup");
      rendezvous.fail("again", "lookup");
    }
    const std::string error = error_of([&] { rendezvous.barrier("the end"); });
    CHECK(error.starts_with("rank 1 failed during lookup: out of memory."));
    while (reactions < 4) std::this_thread::yield();
    std::atomic<bool> late = false;
    rendezvous.on_failure([&](const std::string&) { late = true; });  // the run has failed already
    while (!late) std::this_thread::yield();
    rendezvous.salvage("", 30);
  });
  CHECK(reactions == 4);
  for (const std::string& error : errors) CHECK(has(error, "rank 1 failed during lookup"));  // of leave()
}

TEST_CASE("rank 0 that cannot go on says why to all") {
  const auto errors = test::in_world(3, [&](Rendezvous& rendezvous) {
    rendezvous.barrier("the start");
    if (rendezvous.rank() == 0) rendezvous.fail("the disk is full", "");
    rendezvous.barrier("the end");
  });
  for (const std::string& error : errors) CHECK(error.starts_with("rank 0 failed: the disk is full."));
}

TEST_CASE("a rank that ends without a word counts as dead, by what it did last") {
  const auto errors = test::in_world(3, [&](Rendezvous& rendezvous) {
    rendezvous.barrier("the start");
    if (rendezvous.rank() == 1) throw run_error("rank 1 gives up", "");
    rendezvous.barrier("the end");
  });
  CHECK(has(errors[0], "rank 1 died after the start"));
  CHECK(has(errors[2], "rank 1 died after the start"));
}

TEST_CASE("a rank that has stopped is no longer waited for") {
  const int port = test::free_port();
  const test::Process stopped([&] {
    const auto rendezvous = join(1, 3, port);
    rendezvous->barrier("the start");
    raise(SIGSTOP);
  });
  const auto errors = test::on_threads({0, 2}, [&](int rank) {
    const Launch launch = test::launch_of(rank, 3, port);
    RendezvousLimits limits;
    limits.silence_s = 2.5;
    const auto rendezvous = Rendezvous::join(launch, 30, limits);
    rendezvous->barrier("the start");
    rendezvous->barrier("the end");
  });
  for (const std::string& error : errors) CHECK(has(error, "rank 1 has not been heard of for 2.5 s"));
}

TEST_CASE("a rank that never comes to a call is named after the limit") {
  const int port = test::free_port();
  const auto errors = test::on_threads({0, 1, 2}, [&](int rank) {
    const Launch launch = test::launch_of(rank, 3, port);
    RendezvousLimits limits;
    limits.collective_s = 0.3;
    const auto rendezvous = Rendezvous::join(launch, 30, limits);
    while (rank == 2 && rendezvous->failure().empty()) std::this_thread::yield();
    rendezvous->barrier("the end");
  });
  for (const std::string& error : errors) CHECK(has(error, "rank 2 did not come to the end within 0.3 s"));
}

}  // namespace shardsim::failure_test
