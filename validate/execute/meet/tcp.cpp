#include "validate/execute/meet/tcp.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>

#include "base/error.h"

namespace shardsim {
namespace {

constexpr int kBacklog = 4096;  // every rank of a large world may connect at once

sockaddr_in socket_address(const Address& address) {
  sockaddr_in result{};
  result.sin_family = AF_INET;
  result.sin_port = htons(static_cast<std::uint16_t>(address.port));
  if (inet_pton(AF_INET, address.host.c_str(), &result.sin_addr) != 1)
    throw std::system_error(EINVAL, std::generic_category());
  return result;
}

Address address_of(const sockaddr_in& address) {
  char text[INET_ADDRSTRLEN] = "";
  inet_ntop(AF_INET, &address.sin_addr, text, sizeof text);
  return {text, ntohs(address.sin_port)};
}

Address end_of(const Descriptor& socket, int (*name)(int, sockaddr*, socklen_t*)) {
  sockaddr_in address{};
  socklen_t length = sizeof address;
  name(socket.fd(), reinterpret_cast<sockaddr*>(&address), &length);
  return address_of(address);
}

void send_at_once(int fd) {
  const int yes = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
}

Descriptor new_socket() {
  Descriptor made(socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!made.open()) throw std::system_error(errno, std::generic_category());
  send_at_once(made.fd());
  return made;
}

}  // namespace

bool try_again(int error) {
  return error == EAGAIN || error == EWOULDBLOCK || error == EINTR;
}

TimePoint after_seconds(double seconds) {
  return Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
}

int milliseconds_until(TimePoint when) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(when - Clock::now()).count();
  return static_cast<int>(std::clamp<std::int64_t>(left, 0, 1'000'000));
}

Descriptor::Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}

Descriptor& Descriptor::operator=(Descriptor&& other) noexcept {
  if (this != &other) {
    close();
    fd_ = std::exchange(other.fd_, -1);
  }
  return *this;
}

void Descriptor::close() {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
}

Address address_of_text(const std::string& text) {
  const std::size_t colon = text.rfind(':');
  return {text.substr(0, colon), std::stoi(text.substr(colon + 1))};
}

Address local_address(const Descriptor& socket) {
  return end_of(socket, getsockname);
}

Address peer_address(const Descriptor& socket) {
  return end_of(socket, getpeername);
}

std::optional<std::string> resolve(const std::string& host, std::string& why) {
  addrinfo hints{};
  hints.ai_family = AF_INET;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int status = getaddrinfo(host.c_str(), nullptr, &hints, &found);
  if (status != 0) {
    why = gai_strerror(status);
    return std::nullopt;
  }
  const Address address = address_of(*reinterpret_cast<const sockaddr_in*>(found->ai_addr));
  freeaddrinfo(found);
  return address.host;
}

Descriptor listen_on(const Address& address) {
  Descriptor listener = new_socket();
  const int yes = 1;
  setsockopt(listener.fd(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  const sockaddr_in place = socket_address(address);
  if (bind(listener.fd(), reinterpret_cast<const sockaddr*>(&place), sizeof place) != 0 ||
      listen(listener.fd(), kBacklog) != 0)
    throw std::system_error(errno, std::generic_category());
  return listener;
}

Descriptor accept_from(const Descriptor& listener) {
  Descriptor accepted(accept4(listener.fd(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
  if (accepted.open()) send_at_once(accepted.fd());
  return accepted;
}

Descriptor connect_to(const Address& address, TimePoint deadline, int& error) {
  Descriptor socket = new_socket();
  const sockaddr_in place = socket_address(address);
  error = 0;
  if (connect(socket.fd(), reinterpret_cast<const sockaddr*>(&place), sizeof place) != 0 && errno != EINPROGRESS)
    error = errno;
  pollfd wanted{socket.fd(), POLLOUT, 0};
  socklen_t length = sizeof error;
  if (error == 0 && poll(&wanted, 1, milliseconds_until(deadline)) <= 0) error = ETIMEDOUT;
  if (error == 0) getsockopt(socket.fd(), SOL_SOCKET, SO_ERROR, &error, &length);
  if (error == 0 && local_address(socket) == peer_address(socket)) error = ECONNREFUSED;
  return error == 0 ? std::move(socket) : Descriptor();
}

std::int64_t socket_descriptors(int world_size, int ranks_here, bool root, int channels) {
  constexpr std::int64_t kOfProcess = 32, kOfRank = 4;  // streams and files; a door, and what wakes a rank's threads
  const std::int64_t others = world_size - 1;
  return kOfProcess + ranks_here * (kOfRank + 1 + others * channels) + (root ? others : 0);
}

void allow_descriptors(std::int64_t needed) {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= static_cast<rlim_t>(needed)) return;
  const rlim_t most = limit.rlim_max;
  limit.rlim_cur = std::min(static_cast<rlim_t>(needed), most);
  if (limit.rlim_cur >= static_cast<rlim_t>(needed) && setrlimit(RLIMIT_NOFILE, &limit) == 0) return;
  throw run_error(fmt::format("the ranks of this process need {} file descriptors for their connections, and {} are "
                              "allowed",
                              needed, most),
                  fmt::format("Allow more of them (ulimit -n {}), or run fewer ranks in one process", needed));
}

std::string error_text(int error_number) {
  return std::system_category().message(error_number);
}

WakeUp::WakeUp() : event_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
  if (!event_.open())
    throw run_error("no event descriptor: " + error_text(errno), "Raise the limit of open files (ulimit -n)");
}

void WakeUp::raise() {
  eventfd_write(event_.fd(), 1);
}

void WakeUp::clear() {
  eventfd_t value = 0;
  eventfd_read(event_.fd(), &value);
}

void StopSign::raise(const std::string& why) {
  const std::lock_guard lock(mutex_);
  if (raised_) return;
  why_ = why;
  raised_ = true;
  wake_.raise();
}

std::string StopSign::why() const {
  const std::lock_guard lock(mutex_);
  return why_;
}

}  // namespace shardsim
