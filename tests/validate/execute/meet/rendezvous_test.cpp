#include "validate/execute/meet/rendezvous.h"

#include <doctest/doctest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <atomic>

#include "tests/base/error_text.h"
#include "tests/validate/execute/ranks.h"

namespace shardsim::rendezvous_test {

namespace {

const std::vector<std::string> kNoErrors(4);

}  // namespace

TEST_CASE("four ranks gather texts, by rank") {
  const auto errors = test::in_world(4, [](Rendezvous& rendezvous) {
    const std::string own = "text of " + std::to_string(rendezvous.rank());
    const std::vector<std::string> all = {"text of 0", "text of 1", "text of 2", "text of 3"};
    for (int i = 0; i < 20; ++i) CHECK(rendezvous.all_gather(own, "texts") == all);
    CHECK(rendezvous.gather(own, "texts") == (rendezvous.rank() == 0 ? all : std::vector<std::string>{}));
    CHECK(rendezvous.from_root(own, "a text") == "text of 0");
    CHECK(rendezvous.address() == "127.0.0.1");
    CHECK(rendezvous.failure().empty());
  });
  CHECK(errors == kNoErrors);
}

TEST_CASE("texts of megabytes go through") {
  const auto errors = test::in_world(4, [](Rendezvous& rendezvous) {
    rendezvous.allow(3'000'000);
    rendezvous.barrier("before the large texts");
    const std::vector<std::string> all =
        rendezvous.all_gather(std::string(3'000'000, static_cast<char>('a' + rendezvous.rank())), "large texts");
    REQUIRE(all.size() == 4);
    for (int rank = 0; rank < 4; ++rank) CHECK(all[rank] == std::string(3'000'000, static_cast<char>('a' + rank)));
  });
  CHECK(errors == kNoErrors);
}

TEST_CASE("nobody passes a barrier before the last one has come") {
  std::atomic<int> came = 0;
  const auto errors = test::in_world(4, [&](Rendezvous& rendezvous) {
    for (int round = 1; round <= 50; ++round) {
      ++came;
      rendezvous.barrier("a barrier");
      CHECK(came >= 4 * round);
      rendezvous.barrier("another one");
      CHECK(came == 4 * round);
      rendezvous.barrier("before the next round");
    }
  });
  CHECK(errors == kNoErrors);
}

TEST_CASE("one rank alone listens on no port") {
  const int port = test::free_port();
  const Descriptor taken = listen_on({"0.0.0.0", port});
  const auto alone = Rendezvous::join(test::launch_of(0, 1, port));
  CHECK(alone->all_gather("x", "a text") == std::vector<std::string>{"x"});
  alone->barrier("a barrier");
  CHECK(alone->clock_offset().seconds == 0);
  alone->leave();
}

TEST_CASE("a call that the others do not make is a failure on all ranks") {
  const auto errors = test::in_world(4, [](Rendezvous& rendezvous) {
    if (rendezvous.rank() == 2)
      rendezvous.all_gather("", "gathering");
    else
      rendezvous.barrier("waiting");
  });
  for (const std::string& error : errors) {
    CHECK(has(error, "the ranks do not agree on the next step"));
    CHECK(has(error, "'gathering'"));
  }
}

TEST_CASE("ranks that do not come are named to all that did") {
  const int port = test::free_port();
  const auto errors =
      test::on_threads({0, 1, 4}, [&](int rank) { Rendezvous::join(test::launch_of(rank, 5, port), 0.5); });
  for (const std::string& error : errors) CHECK(has(error, "ranks 2 and 3 did not come to the rendezvous"));
}

TEST_CASE("without rank 0 the others say so, and where they looked") {
  const int port = test::free_port();
  const auto errors =
      test::on_threads({1, 2}, [&](int rank) { Rendezvous::join(test::launch_of(rank, 3, port), 0.3); });
  for (const std::string& error : errors) {
    CHECK(has(error, "rank 0 is missing"));
    CHECK(has(error, "127.0.0.1:" + std::to_string(port)));
    CHECK(has(error, "Connection refused"));
  }
}

TEST_CASE("a host that no node knows is named by every rank, with where its name came from") {
  Launch launch = test::launch_of(0, 3, test::free_port());
  launch.master_host = "gpu99.invalid";  // RFC 2606: of no host
  for (const char* const launcher : {"torchrun", "Slurm"}) {
    launch.launcher = launcher;
    const auto errors = test::on_threads({0, 1, 2}, [&](int rank) {
      Launch own = launch;
      own.rank = own.local_rank = rank;
      Rendezvous::join(own, 60);
    });
    for (std::size_t rank = 0; rank < errors.size(); ++rank) {
      CHECK(has(errors[rank], "MASTER_ADDR"));
      CHECK(has(errors[rank], "SLURM_STEP_NODELIST") == (launch.launcher == "Slurm"));
      CHECK(has(errors[rank], "rank " + std::to_string(rank) + " on "));
      CHECK(has(errors[rank], "finds no host \"gpu99.invalid\""));
    }
  }
}

TEST_CASE("a port in use is named with the way out") {
  const int port = test::free_port();
  const Descriptor taken = listen_on({"0.0.0.0", port});
  const std::string error = error_of([&] { Rendezvous::join(test::launch_of(0, 2, port), 1); });
  CHECK(has(error, "port " + std::to_string(port) + " is in use"));
  CHECK(has(error, "Set MASTER_PORT to a free port"));
}

namespace {

// Somebody else's listener on all IPv6 addresses, which takes the port of all IPv4 ones, too: so torchrun's agent does.
Descriptor listen_on_ipv6(int port) {
  Descriptor listener(socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in6 any{};
  any.sin6_family = AF_INET6;
  any.sin6_port = htons(static_cast<std::uint16_t>(port));
  const int no = 0;
  if (!listener.open() || setsockopt(listener.fd(), IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof no) != 0 ||
      bind(listener.fd(), reinterpret_cast<const sockaddr*>(&any), sizeof any) != 0 || listen(listener.fd(), 9) != 0)
    return {};  // a machine without IPv6
  return listener;
}

Launch beside_agent(int rank, int agent, int spare) {
  Launch launch = test::launch_of(rank, 3, agent);
  launch.other_ports = {spare};
  return launch;
}

}  // namespace

TEST_CASE("where an agent has the port, on IPv4 or on IPv6, the ranks meet at the next one") {
  for (const bool ipv6 : {false, true}) {
    const int port = test::free_port(), spare = test::free_port();
    const Descriptor agent = ipv6 ? listen_on_ipv6(port) : listen_on({"0.0.0.0", port});
    if (!agent.open()) continue;
    const auto errors = test::on_threads({0, 1, 2}, [&](int rank) {  // the agent says nothing to those who greet it
      Rendezvous::join(beside_agent(rank, port, spare), 20)->leave();
    });
    CHECK(errors == std::vector<std::string>(3));
  }
}

TEST_CASE("ranks pass by the rendezvous of another run on their first port") {
  const int port = test::free_port(), spare = test::free_port();
  std::atomic<int> met = 0;
  const auto errors = test::on_threads({0, 1, 2, 10, 11, 12}, [&](int number) {
    Launch launch = beside_agent(number % 10, port, spare);
    launch.run = number < 10 ? "one" : "another";
    const auto rendezvous = Rendezvous::join(launch, 20);
    CHECK(rendezvous->all_gather(launch.run, "names") == std::vector<std::string>(3, launch.run));
    ++met;
    while (met < 6) std::this_thread::yield();
    rendezvous->leave();
  });
  CHECK(errors == std::vector<std::string>(6));
}

TEST_CASE("a program of another kind behind the port is no rank 0") {
  const int port = test::free_port();
  const Descriptor listener = listen_on({"127.0.0.1", port});
  Descriptor accepted;
  const auto errors = test::on_threads({0, 1}, [&](int rank) {
    if (rank == 1) {
      Rendezvous::join(test::launch_of(1, 2, port), 10);
      return;
    }
    while (!accepted.open()) accepted = accept_from(listener);
    send(accepted.fd(), "220 smtp ready\r\n", 16, MSG_NOSIGNAL);
  });
  CHECK(has(errors[1], "is not rank 0 of a run of shardsim"));
  CHECK(has(errors[1], "127.0.0.1:" + std::to_string(port)));
}

TEST_CASE("strangers at rank 0's port do not keep the ranks from meeting") {
  const int port = test::free_port();
  std::atomic<bool> knocked = false;
  const auto errors = test::on_threads({0, 1, 2}, [&](int rank) {
    if (rank < 2) {
      if (rank == 1)
        while (!knocked) std::this_thread::yield();
      Rendezvous::join(test::launch_of(rank, 2, port), 30)->leave();
      return;
    }
    Descriptor stranger;
    int error = 0;
    while (!stranger.open()) stranger = connect_to({"127.0.0.1", port}, after_seconds(1), error);
    send(stranger.fd(), "GET / HTTP/1.1\r\n\r\n", 18, MSG_NOSIGNAL);
    knocked = true;
  });
  CHECK(errors == std::vector<std::string>(3));
}

namespace {

Descriptor knock(int port) {
  Descriptor stranger;
  int error = 0;
  while (!stranger.open()) stranger = connect_to({"127.0.0.1", port}, after_seconds(1), error);
  return stranger;
}

Launch with_secret(Launch launch, const std::string& secret) {
  launch.secret = secret;
  return launch;
}

// The first 24 bytes of a contribution that claims to have so many more.
std::string header_of(std::uint64_t bytes) {
  std::string header = encoded({FrameKind::contribution, ""});
  header.replace(16, sizeof bytes, reinterpret_cast<const char*>(&bytes), sizeof bytes);
  return header;
}

}  // namespace

TEST_CASE("strangers in any number, silent ones and ones that claim a place, hold up no rank and are counted") {
  const int port = test::free_port();
  std::atomic<bool> knocked = false;
  const auto errors = test::on_threads({0, 1, 2}, [&](int rank) {
    if (rank < 2) {
      while (rank == 1 && !knocked) std::this_thread::yield();
      const auto rendezvous = Rendezvous::join(test::launch_of(rank, 2, port), 30);
      if (rank == 0) CHECK(rendezvous->strangers() > 0);
      rendezvous->leave();
      return;
    }
    std::vector<Descriptor> strangers;
    for (int i = 0; i < 300; ++i) strangers.push_back(knock(port));
    const std::string claim = encoded({FrameKind::hello, pack_texts({"1", "2", ""})});
    for (const Descriptor& stranger : strangers) {
      const std::string said = stranger.fd() % 3 == 0 ? claim : stranger.fd() % 3 == 1 ? "SHRDSIM2 and no nonce" : "";
      send(stranger.fd(), said.data(), said.size(), MSG_NOSIGNAL);
    }
    knocked = true;
    std::this_thread::sleep_for(std::chrono::milliseconds(500));  // they stay while the ranks meet
  });
  CHECK(errors == std::vector<std::string>(3));
}

TEST_CASE("a rank with another secret says so at once, and takes nobody's place") {
  const int port = test::free_port();
  std::atomic<bool> refused = false;
  const auto errors = test::on_threads({0, 1, 2}, [&](int number) {
    const bool wrong = number == 2;
    while (number == 1 && !refused) std::this_thread::yield();
    try {
      const Launch launch = test::launch_of(wrong ? 1 : number, 2, port);
      Rendezvous::join(with_secret(launch, wrong ? "the wrong secret" : "the right secret"), 30)->leave();
    } catch (const Error&) {
      refused = true;
      throw;
    }
  });
  CHECK(errors[0].empty());
  CHECK(errors[1].empty());
  CHECK(has(errors[2], "rank 0 at 127.0.0.1:" + std::to_string(port) + " has another secret than rank 1"));
}

TEST_CASE("rank 0 that waits in vain says how many it turned away") {
  const int port = test::free_port();
  const auto errors = test::on_threads({0, 1}, [&](int rank) {
    Rendezvous::join(with_secret(test::launch_of(rank, 2, port), rank == 0 ? "one secret" : "another secret"), 0.5);
  });
  CHECK(has(errors[0], "rank 1 did not come to the rendezvous"));
  CHECK(has(errors[0], "(turned away: 1 connection that was no rank with the secret of this run)"));
}

TEST_CASE("a rank that sends more than any may is named, and nobody stores it") {
  const int port = test::free_port();
  const auto errors = test::on_threads({0, 1, 2}, [&](int rank) {
    if (rank != 1) {
      Rendezvous::join(test::launch_of(rank, 3, port), 30)->barrier("waiting for rank 1");
      return;
    }
    const Joined joined = join_ranks(test::launch_of(1, 3, port), 30);
    const std::string header = header_of(std::uint64_t{8} << 30);
    send(joined.links[0]->socket().fd(), header.data(), header.size(), MSG_NOSIGNAL);
    while (!joined.links[0]->closed()) await_frame(*joined.links[0], after_seconds(0.1));
  });
  for (const int rank : {0, 2}) {
    CHECK(has(errors[static_cast<std::size_t>(rank)], "rank 1 failed: it sent a message of 8589934592 bytes"));
    CHECK_FALSE(has(errors[static_cast<std::size_t>(rank)], "died"));
  }
}

TEST_CASE("where other machines reach rank 0 a secret is needed, and the address must be one of this host") {
  Launch launch = test::launch_of(0, 2, test::free_port());
  launch.master_host = "192.0.2.77";  // TEST-NET-1 (RFC 5737): of no host
  for (const int rank : {0, 1}) {
    launch.rank = launch.local_rank = rank;
    const std::string error = error_of([&] { Rendezvous::join(launch, 0.3); });
    CHECK(error.starts_with("environment variable SHARDSIM_SECRET: not set"));
    CHECK(has(error, "192.0.2.77"));
  }
  launch.rank = launch.local_rank = 0;
  const std::string error = error_of([&] { Rendezvous::join(with_secret(launch, "a secret of a test"), 0.3); });
  CHECK(has(error, "192.0.2.77"));
  CHECK(has(error, "its host has no such address"));
}

TEST_CASE("a rank that comes twice, or from another world, is turned away") {
  const int port = test::free_port();
  const auto errors =
      test::on_threads({0, 1, 1}, [&](int rank) { Rendezvous::join(test::launch_of(rank, 3, port), 0.7); });
  CHECK(has(errors[0], "rank 2 did not come"));
  CHECK((has(errors[1], "rank 1 came twice") || has(errors[2], "rank 1 came twice")));
  const int another = test::free_port();
  const auto worlds = test::on_threads(
      {0, 1}, [&](int rank) { Rendezvous::join(test::launch_of(rank, rank == 0 ? 3 : 2, another), 0.5); });
  CHECK(has(worlds[0], "ranks 1 and 2 did not come"));
  CHECK(has(worlds[1], "rank 1 was started for a world of 2 ranks, but rank 0 for one of 3"));
}

}  // namespace shardsim::rendezvous_test
