#pragma once

#include <string>
#include <string_view>

#include "validate/execute/meet/secret.h"
#include "validate/execute/meet/tcp.h"

namespace shardsim {

// The two ends of a new connection prove to each other that they know a key, before either says or believes anything
// else: the caller sends a nonce, the other end one of its own and a keyed hash over both, the caller its keyed hash
// over both. The messages of the two ends have fixed lengths (40, 72 and 32 bytes), so a stranger makes nobody store
// more. It says who is there, and encrypts nothing.
//
// It never blocks, so that one thread can have any number of them under way.
class Handshake {
 public:
  enum class State {
    under_way,
    proven,   // the other end knows the key; what it sends next has not been read
    refused,  // it does not, or speaks something else
    closed,   // it has gone
  };

  static Handshake by_caller(std::string_view key) { return {key, true}; }
  static Handshake by_callee(std::string_view key) { return {key, false}; }

  // Sends and receives what can be without waiting. To be called again when the socket can be read or, where
  // wants_to_send(), written.
  State go_on(const Descriptor& socket);
  bool wants_to_send() const { return !waiting_.empty(); }
  bool heard_something() const { return heard_; }
  // The other end speaks the protocol and proved to know a key, but another one. False: it speaks something else.
  bool knows_another_key() const { return another_key_; }

 private:
  Handshake(std::string_view key, bool caller);
  bool send_waiting(const Descriptor& socket);
  bool receive(const Descriptor& socket);
  void take_message();
  void take_first();
  void take_answer();
  void take_proof();
  void refuse(bool another_key);
  std::string proof_of(std::string_view who) const;
  bool proves(std::string_view got, std::string_view who) const;

  std::string key_;
  bool caller_;
  State state_ = State::under_way;
  std::string own_nonce_, callers_nonce_, callees_nonce_;
  std::string waiting_;        // to be sent
  std::string message_;        // what has come of the one that is awaited
  std::size_t awaited_bytes_;  // how long that is
  bool heard_ = false;
  bool answered_ = false;  // at the callee: it awaits the proof
  bool another_key_ = false;
};

}  // namespace shardsim
