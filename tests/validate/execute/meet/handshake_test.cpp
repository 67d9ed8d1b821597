#include "validate/execute/meet/handshake.h"

#include <doctest/doctest.h>
#include <sys/socket.h>

#include <string>
#include <utility>

namespace shardsim::handshake_test {

namespace {

using State = Handshake::State;

const std::string kKey = "the key of this run";

// Two ends of one connection.
std::pair<Descriptor, Descriptor> connection() {
  int ends[2] = {-1, -1};
  REQUIRE(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) == 0);
  return {Descriptor(ends[0]), Descriptor(ends[1])};
}

std::string heard(const Descriptor& end) {
  char bytes[4096];
  const ssize_t got = recv(end.fd(), bytes, sizeof bytes, 0);
  return got > 0 ? std::string(bytes, static_cast<std::size_t>(got)) : "";
}

void say(const Descriptor& end, const std::string& text) {
  REQUIRE(send(end.fd(), text.data(), text.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(text.size()));
}

}  // namespace

TEST_CASE("two ends with one key prove it to each other, and what follows is left to others") {
  const auto [left, right] = connection();
  Handshake caller = Handshake::by_caller(kKey), callee = Handshake::by_callee(kKey);
  CHECK(caller.go_on(left) == State::under_way);
  CHECK(callee.go_on(right) == State::under_way);
  CHECK(caller.go_on(left) == State::proven);
  say(left, "and now?");
  CHECK(callee.go_on(right) == State::proven);
  CHECK(heard(right) == "and now?");
}

TEST_CASE("the caller finds out that the other end has another key, before it proves anything itself") {
  const auto [left, right] = connection();
  Handshake caller = Handshake::by_caller(kKey), callee = Handshake::by_callee("another key");
  caller.go_on(left);
  callee.go_on(right);
  CHECK(caller.go_on(left) == State::refused);
  CHECK(caller.knows_another_key());
  CHECK(heard(right).empty());
}

TEST_CASE("a caller that does not know the key is refused, whatever it says for a proof") {
  const auto [left, right] = connection();
  Handshake callee = Handshake::by_callee(kKey);
  say(left, "SHRDSIM2" + std::string(32, 'n'));
  CHECK(callee.go_on(right) == State::under_way);
  const std::string answer = heard(left);
  REQUIRE(answer.size() == 72);
  say(left, answer.substr(40));  // the callee's own proof
  CHECK(callee.go_on(right) == State::refused);
}

TEST_CASE("what one run proved is no proof in another: nonces are new each time") {
  const auto [left, right] = connection();
  const auto [later_left, later_right] = connection();
  Handshake caller = Handshake::by_caller(kKey), callee = Handshake::by_callee(kKey);
  caller.go_on(left);
  const std::string first = heard(right);
  say(left, first);  // as it came, so that both can go on
  callee.go_on(right);
  caller.go_on(left);
  const std::string proof = heard(right);
  REQUIRE(proof.size() == 32);
  Handshake later = Handshake::by_callee(kKey);
  say(later_left, first);
  later.go_on(later_right);
  say(later_left, proof);
  CHECK(later.go_on(later_right) == State::refused);
}

TEST_CASE("bytes of another kind are refused from the first one that differs") {
  const auto [left, right] = connection();
  Handshake callee = Handshake::by_callee(kKey);
  say(left, "SHRD");
  CHECK(callee.go_on(right) == State::under_way);
  say(left, "X");
  CHECK(callee.go_on(right) == State::refused);
  CHECK_FALSE(callee.knows_another_key());
}

TEST_CASE("however the bytes are cut, and however late they come") {
  const auto [left, right] = connection();
  const auto [far_left, far_right] = connection();
  Handshake caller = Handshake::by_caller(kKey), callee = Handshake::by_callee(kKey);
  State of_caller = State::under_way, of_callee = State::under_way;
  for (int i = 0; i < 400 && of_callee == State::under_way; ++i) {
    of_caller = caller.go_on(left);
    char byte = 0;
    if (recv(right.fd(), &byte, 1, 0) == 1) say(far_left, std::string(1, byte));
    of_callee = callee.go_on(far_right);
    if (recv(far_left.fd(), &byte, 1, 0) == 1) say(right, std::string(1, byte));
  }
  CHECK(of_caller == State::proven);
  CHECK(of_callee == State::proven);
}

TEST_CASE("an end that goes, and one that says nothing") {
  auto [left, right] = connection();
  Handshake callee = Handshake::by_callee(kKey);
  CHECK(callee.go_on(right) == State::under_way);
  CHECK_FALSE(callee.heard_something());
  left.close();
  CHECK(callee.go_on(right) == State::closed);
}

}  // namespace shardsim::handshake_test
