#include <doctest/doctest.h>
#include <sys/socket.h>

#include <algorithm>
#include <atomic>
#include <csignal>

#include "tests/base/error_text.h"
#include "tests/validate/execute/ranks.h"
#include "validate/execute/meet/handshake.h"
#include "validate/execute/wires/wire.h"

namespace shardsim::sockets_test {

namespace {

std::unique_ptr<Wire> connect(Rendezvous& rendezvous, int channels = 1) {
  const auto found = std::ranges::find(wires(), "sockets", &WireEntry::name);
  REQUIRE(found != wires().end());
  return found->connect(rendezvous, channels);
}

// Receives what nobody sends.
std::string error_of_waiting_for(Wire& wire, int peer, int channel = 0) {
  std::byte data{};
  const Receiving receiving{peer, &data, 1};
  return error_of([&] { wire.exchange(channel, {}, {&receiving, 1}); });
}

}  // namespace

TEST_CASE("the table of wires is alphabetical") {
  CHECK(std::ranges::is_sorted(wires(), {}, &WireEntry::name));
}

TEST_CASE("several sends to one peer arrive one after the other") {
  const auto errors = test::in_world(2, [](Rendezvous& rendezvous) {
    const auto wire = connect(rendezvous);
    std::vector<std::byte> first(700'000, std::byte{1}), second(5, std::byte{2});
    if (rendezvous.rank() == 0) {
      const std::vector<Sending> sends = {{1, first.data(), first.size()}, {1, second.data(), second.size()}};
      wire->exchange(0, sends, {});
    } else {
      std::vector<std::byte> got(first.size()), then(second.size());
      const std::vector<Receiving> receives = {{0, got.data(), got.size()}, {0, then.data(), then.size()}};
      wire->exchange(0, {}, receives);
      CHECK(got == first);
      CHECK(then == second);
    }
    rendezvous.barrier("the end");
  });
  CHECK(errors == std::vector<std::string>(2));
}

TEST_CASE("when met: a pair begins as soon as its receiver is there, and does not wait for other pairs") {
  std::atomic<bool> first_done = false, last_there = false;
  const auto errors = test::in_world(3, [&](Rendezvous& rendezvous) {
    const auto wire = connect(rendezvous);
    const std::vector<std::byte> data(300'000, std::byte{7});
    std::vector<std::byte> got(data.size());
    const Receiving receiving{0, got.data(), got.size()};
    if (rendezvous.rank() == 0) {
      const std::vector<Sending> sends = {{2, data.data(), data.size()}, {1, data.data(), data.size()}};
      wire->exchange_when_met(0, sends, {});
      CHECK(last_there);
      CHECK(wire->sent(0) == std::vector<std::int64_t>{0, 300'000, 300'000});
    } else {
      for (int i = 0; rendezvous.rank() == 2 && i < 1000 && !first_done; ++i)
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
      if (rendezvous.rank() == 2) last_there = true;
      wire->exchange_when_met(0, {}, {&receiving, 1});
      CHECK(first_done == (rendezvous.rank() == 2));
      if (rendezvous.rank() == 1) first_done = true;
      CHECK(got == data);
    }
    rendezvous.barrier("the end");
  });
  CHECK(errors == std::vector<std::string>(3));
}

TEST_CASE("stop() ends exchanges under way and to come, on all channels") {
  const auto errors = test::in_world(2, [](Rendezvous& rendezvous) {
    const auto wire = connect(rendezvous, 2);
    const int peer = 1 - rendezvous.rank();
    std::atomic<int> waiting = 0;
    std::vector<std::thread> threads;
    std::vector<std::string> messages(2);
    for (int channel = 0; channel < 2; ++channel)
      threads.emplace_back([&, channel] {
        ++waiting;
        messages[channel] = error_of_waiting_for(*wire, peer, channel);
      });
    while (waiting < 2) std::this_thread::yield();
    std::this_thread::sleep_for(std::chrono::milliseconds(20));  // likely asleep in poll by now; right if not
    wire->stop();
    for (std::thread& thread : threads) thread.join();
    for (const std::string& message : messages) CHECK(has(message, "the transport was stopped"));
    CHECK(has(error_of_waiting_for(*wire, peer), "the transport was stopped"));
    rendezvous.barrier("the end");
  });
  CHECK(errors == std::vector<std::string>(2));
}

TEST_CASE("a rank that hangs up is named by those that wait for it") {
  const auto errors = test::in_world(3, [](Rendezvous& rendezvous) {
    auto wire = connect(rendezvous);
    if (rendezvous.rank() == 2)
      wire.reset();
    else
      CHECK(has(error_of_waiting_for(*wire, 2), "the connection to rank 2 broke (channel 0)"));
    rendezvous.barrier("the end");
  });
  CHECK(errors == std::vector<std::string>(3));
}

// Sending into it must not kill this process by SIGPIPE either.
TEST_CASE("sending to a rank that has gone is an error") {
  const auto errors = test::in_world(2, [](Rendezvous& rendezvous) {
    auto wire = connect(rendezvous);
    if (rendezvous.rank() == 1) wire.reset();
    rendezvous.barrier("hung up");
    if (rendezvous.rank() == 0) {
      const std::vector<std::byte> data(1 << 20);
      const Sending sending{1, data.data(), data.size()};
      const std::string error = error_of([&] {
        for (int i = 0; i < 100; ++i) wire->exchange(0, {&sending, 1}, {});
      });
      CHECK(has(error, "the connection to rank 1 broke"));
    }
    rendezvous.barrier("the end");
  });
  CHECK(errors == std::vector<std::string>(2));
}

TEST_CASE("no peer, no channel: an error, not a hang") {
  const auto errors = test::in_world(2, [](Rendezvous& rendezvous) {
    const auto wire = connect(rendezvous);
    CHECK(has(error_of_waiting_for(*wire, rendezvous.rank()), "there is no connection to rank"));
    CHECK(has(error_of_waiting_for(*wire, 7), "there is no connection to rank 7"));
    CHECK_THROWS(error_of_waiting_for(*wire, 1 - rendezvous.rank(), 1));
    rendezvous.barrier("the end");
  });
  CHECK(errors == std::vector<std::string>(2));
}

namespace {

// Rank 1 by hand, so that strangers can come to rank 0's door before it does.
void come_after_strangers(Rendezvous& rendezvous) {
  const std::vector<std::string> doors = rendezvous.all_gather("127.0.0.1:1", "connecting sockets");
  const auto knock = [&] {
    int error = 0;
    return connect_to(address_of_text(doors[0]), after_seconds(5), error);
  };
  const auto say = [](const Descriptor& socket, const std::string& text) {
    CHECK(send(socket.fd(), text.data(), text.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(text.size()));
  };
  const std::int32_t greeting[2] = {1, 0};
  const std::string place(reinterpret_cast<const char*>(greeting), sizeof greeting);
  std::vector<Descriptor> strangers;
  for (int i = 0; i < 100; ++i) strangers.push_back(knock());  // silent ones
  for (int i = 0; i < 10; ++i) {
    strangers.push_back(knock());
    say(strangers.back(), i % 2 == 0 ? place : "SHRDSIM2" + std::string(64, 'n') + place);
  }
  const Descriptor own = knock();
  Handshake handshake = Handshake::by_caller(rendezvous.run_key());
  while (handshake.go_on(own) == Handshake::State::under_way) std::this_thread::yield();
  say(own, place + "x");
  rendezvous.barrier("connecting sockets");
  rendezvous.barrier("the end");
}

}  // namespace

TEST_CASE("strangers at a rank's socket neither take a peer's place nor keep it from coming") {
  const auto errors = test::in_world(2, [](Rendezvous& rendezvous) {
    if (rendezvous.rank() == 1) return come_after_strangers(rendezvous);
    const auto wire = connect_sockets(rendezvous, 1);
    std::byte got{};
    const Receiving receiving{1, &got, 1};
    wire->exchange(0, {}, {&receiving, 1});
    CHECK(got == std::byte{'x'});
    CHECK(rendezvous.strangers() >= 10);
    rendezvous.barrier("the end");
  });
  CHECK(errors == std::vector<std::string>(2));
}

TEST_CASE("a killed rank ends the exchanges of all others with one message, also of those that do not talk to it") {
  const int port = test::free_port();
  const test::Process victim([&] {
    const auto rendezvous = Rendezvous::join(test::launch_of(3, 4, port), 30);
    const auto wire = connect(*rendezvous);
    rendezvous->barrier("the start");
    raise(SIGKILL);
  });
  const auto errors = test::on_threads({0, 1, 2}, [&](int rank) {
    const auto rendezvous = Rendezvous::join(test::launch_of(rank, 4, port), 30);
    const auto wire = connect(*rendezvous);
    rendezvous->barrier("the start");
    // 0 waits for the dead one, 1 for 2, and 2 for 1. Who sees a connection break reports it, as an executor does.
    const std::string error = error_of_waiting_for(*wire, rank == 0 ? 3 : 3 - rank);
    rendezvous->fail(error, "waiting");
    rendezvous->barrier("the end");
  });
  for (const std::string& error : errors) CHECK(error.starts_with("rank 3 died after the start."));
}

}  // namespace shardsim::sockets_test
