#include "validate/execute/meet/handshake.h"

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "validate/execute/meet/secret.h"

namespace shardsim {
namespace {

// Begins each end's first message, so that programs of another kind are told apart from ranks with another secret.
constexpr std::string_view kOpening = "SHRDSIM2";
constexpr std::size_t kNonce = 32, kProof = std::tuple_size_v<Digest>;
// Each end proves something else, so that nobody can hand an end's own words back to it.
constexpr std::string_view kCaller = "shardsim caller", kCallee = "shardsim callee";

}  // namespace

Handshake::Handshake(std::string_view key, bool caller) : key_(key), caller_(caller), own_nonce_(random_secret()) {
  awaited_bytes_ = kOpening.size() + kNonce + (caller ? kProof : 0);
  if (!caller) return;
  callers_nonce_ = own_nonce_;
  waiting_ = std::string(kOpening) + own_nonce_;
}

Handshake::State Handshake::go_on(const Descriptor& socket) {
  while (state_ == State::under_way && send_waiting(socket) && receive(socket)) {
  }
  // The proof of this end goes out before the end is believed to be done.
  if (state_ == State::proven && !send_waiting(socket)) return State::under_way;
  return state_;
}

// False when some is left. An end that has gone is noticed by reading.
bool Handshake::send_waiting(const Descriptor& socket) {
  while (!waiting_.empty()) {
    const ssize_t sent = send(socket.fd(), waiting_.data(), waiting_.size(), MSG_NOSIGNAL);
    if (sent < 0 && try_again(errno)) return false;
    if (sent < 0) waiting_.clear();
    if (sent > 0) waiting_.erase(0, static_cast<std::size_t>(sent));
  }
  return true;
}

// False when nothing has come. Never takes more than the awaited message.
bool Handshake::receive(const Descriptor& socket) {
  std::array<char, kOpening.size() + kNonce + kProof> bytes{};
  const ssize_t got = recv(socket.fd(), bytes.data(), awaited_bytes_ - message_.size(), 0);
  if (got < 0 && try_again(errno)) return false;
  if (got <= 0) {
    state_ = State::closed;
    return false;
  }
  heard_ = true;
  message_.append(bytes.data(), static_cast<std::size_t>(got));
  take_message();
  return true;
}

void Handshake::take_message() {
  const std::size_t seen = answered_ ? 0 : std::min(message_.size(), kOpening.size());
  if (message_.compare(0, seen, kOpening, 0, seen) != 0) return refuse(false);
  if (message_.size() < awaited_bytes_) return;
  if (caller_)
    take_answer();
  else if (answered_)
    take_proof();
  else
    take_first();
}

void Handshake::take_first() {
  callers_nonce_ = message_.substr(kOpening.size());
  callees_nonce_ = own_nonce_;
  waiting_ = std::string(kOpening) + own_nonce_ + proof_of(kCallee);
  message_.clear();
  awaited_bytes_ = kProof;
  answered_ = true;
}

void Handshake::take_answer() {
  callees_nonce_ = message_.substr(kOpening.size(), kNonce);
  if (!proves(std::string_view(message_).substr(kOpening.size() + kNonce), kCallee)) return refuse(true);
  waiting_ = proof_of(kCaller);
  state_ = State::proven;
}

void Handshake::take_proof() {
  if (!proves(message_, kCaller)) return refuse(true);
  state_ = State::proven;
}

void Handshake::refuse(bool another_key) {
  state_ = State::refused;
  another_key_ = another_key;
}

std::string Handshake::proof_of(std::string_view who) const {
  return bytes_of(hmac_sha256(key_, std::string(who) + callers_nonce_ + callees_nonce_));
}

bool Handshake::proves(std::string_view got, std::string_view who) const {
  const std::string expected = proof_of(who);
  Digest one{}, other{};
  std::memcpy(one.data(), got.data(), one.size());
  std::memcpy(other.data(), expected.data(), other.size());
  return equal_in_constant_time(one, other);
}

}  // namespace shardsim
