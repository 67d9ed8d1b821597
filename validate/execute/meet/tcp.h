#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>

namespace shardsim {

using Clock = std::chrono::steady_clock;  // CLOCK_MONOTONIC
using TimePoint = Clock::time_point;

TimePoint after_seconds(double seconds);  // from now
inline constexpr int kTickMs = 100;       // the longest wait for a peer before signs of an end are looked at
int milliseconds_until(TimePoint when);   // for poll: 0 when past, rounded up

// An open descriptor, closed with it.
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept;
  Descriptor& operator=(Descriptor&& other) noexcept;
  ~Descriptor() { close(); }

  int fd() const { return fd_; }
  bool open() const { return fd_ >= 0; }
  void close();

 private:
  int fd_ = -1;
};

// An IPv4 address and a TCP port.
struct Address {
  std::string host;  // dotted; "0.0.0.0" when listening: any
  int port = 0;

  std::string text() const { return host + ":" + std::to_string(port); }
  bool loopback() const { return host.starts_with("127."); }
  bool operator==(const Address&) const = default;
};
Address address_of_text(const std::string& text);  // what Address::text gave

Address local_address(const Descriptor& socket);
Address peer_address(const Descriptor& socket);

// The first IPv4 address of a host name; where there is none, none and why.
std::optional<std::string> resolve(const std::string& host, std::string& why);

// Sockets are non-blocking, closed on exec, and send at once (TCP_NODELAY).

// Port 0: any that is free. Errors: std::system_error with bind's errno.
Descriptor listen_on(const Address& address);

// A connection that waits; not open when none does.
Descriptor accept_from(const Descriptor& listener);

// Waits until `deadline`. Not open when it failed; then `error` is an errno. A socket that connected to itself, which
// can happen if nobody listens on an ephemeral port, counts as refused.
Descriptor connect_to(const Address& address, TimePoint deadline, int& error);

// Returns how many descriptors a process needs for the ranks that it runs of a world, with so many sockets between each
// pair of them: connections to each other and to rank 0, what wakes their threads, and some to spare.
std::int64_t socket_descriptors(int world_size, int ranks_here, bool root, int channels);

// Lets the process open so many descriptors: raises its own limit where the system allows it. Errors (Failure::run): it
// does not.
void allow_descriptors(std::int64_t needed);

std::string error_text(int error_number);  // of an errno, in any thread

// Wakes a thread that sleeps in poll: its descriptor can be read from raise() until clear().
class WakeUp {
 public:
  WakeUp();
  void raise();
  void clear();
  int fd() const { return event_.fd(); }

 private:
  Descriptor event_;
};

// Says once, to any number of threads that poll its descriptor, that they have to stop, and why.
class StopSign {
 public:
  void raise(const std::string& why);
  bool raised() const { return raised_; }
  std::string why() const;
  int fd() const { return wake_.fd(); }  // can be read from then on

 private:
  std::atomic<bool> raised_ = false;
  mutable std::mutex mutex_;
  std::string why_;
  WakeUp wake_;
};

// True when the error of a call on a socket only says that it is to be made again, later.
bool try_again(int error);

}  // namespace shardsim
