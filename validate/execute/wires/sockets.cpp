#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <utility>

#include "base/error.h"
#include "validate/execute/meet/failure_cause.h"
#include "validate/execute/wires/pair_sockets.h"
#include "validate/execute/wires/wire.h"

namespace shardsim {
namespace {

constexpr std::size_t kChunk = 256 << 10;  // bytes of one send or recv, so that peers take turns
constexpr int kStuckMs = 60'000;           // without a byte from or to anybody

// The rest of one send or receive.
struct Piece {
  int peer = 0;
  int fd = -1;
  short direction = POLLIN;
  std::byte* data = nullptr;  // only read when sending
  std::size_t left = 0;
  bool call = false;  // a byte from the receiver of a pair to its sender: it is there
};

Error gone(int peer, int channel, const std::string& how) {
  return run_error(fmt::format("the connection to rank {} broke (channel {}): {}", peer, channel, how),
                   "What that rank printed may say more");
}

// One exchange under way. Pieces of one peer and direction go one after the other, as they share a stream. Where
// receivers call, nothing is sent to a peer before its call has come. Each pair begins by itself: a call on a fast tier
// may stand behind what another stream sends there, and what goes between nodes does not wait for it.
class StepExchange {
 public:
  // Adds what each peer is sent to `sent`.
  StepExchange(const std::vector<Descriptor>& sockets, int channel, const StopSign& stop,
               std::vector<std::int64_t>& sent)
      : sockets_(sockets), channel_(channel), stop_(stop), sent_(sent) {}

  void add(int peer, short direction, std::byte* data, std::size_t bytes) {
    if (peer < 0 || peer >= static_cast<int>(sockets_.size()) || !sockets_[peer].open())
      throw run_error(fmt::format("there is no connection to rank {} (channel {})", peer, channel_), "");
    if (bytes > 0) pieces_.push_back({peer, sockets_[peer].fd(), direction, data, bytes});
  }

  // Before the pieces of the exchange itself: this rank calls the peer, or waits for its call.
  void add_call(int peer, short direction) {
    add(peer, direction, &called_, 1);
    pieces_.back().call = true;
  }

  void run() {
    while (true) {
      if (stop_.raised()) throw run_error(stop_.why(), "");
      if (pieces_.empty()) return;
      if (!pass()) wait();
    }
  }

 private:
  // True when anything moved.
  bool pass() {
    bool moved = false;
    for (Piece* piece : first_of_each_stream()) moved = move(*piece) || moved;
    std::erase_if(pieces_, [](const Piece& piece) { return piece.left == 0; });
    return moved;
  }

  std::vector<Piece*> first_of_each_stream() {
    std::vector<bool> taken(2 * sockets_.size(), false), awaited(sockets_.size(), false);
    std::vector<Piece*> first;
    for (Piece& piece : pieces_) {
      const auto peer = static_cast<std::size_t>(piece.peer), stream = 2 * peer + (piece.direction == POLLOUT ? 1 : 0);
      if (piece.call && piece.direction == POLLIN) awaited[peer] = true;
      const bool too_early = piece.direction == POLLOUT && !piece.call && awaited[peer];
      if (!taken[stream] && !too_early) first.push_back(&piece);
      taken[stream] = true;
    }
    return first;
  }

  bool move(Piece& piece) const {
    const std::size_t bytes = std::min(piece.left, kChunk);
    const ssize_t done = piece.direction == POLLOUT ? send(piece.fd, piece.data, bytes, MSG_NOSIGNAL)
                                                    : recv(piece.fd, piece.data, bytes, 0);
    if (done < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR)) return false;
    if (done < 0) throw gone(piece.peer, channel_, error_text(errno));
    if (done == 0) throw gone(piece.peer, channel_, "that rank has closed it");
    piece.data += done;
    piece.left -= static_cast<std::size_t>(done);
    if (piece.direction == POLLOUT) sent_[static_cast<std::size_t>(piece.peer)] += done;
    return true;
  }

  void wait() {
    std::vector<pollfd> wanted = {{stop_.fd(), POLLIN, 0}};
    for (const Piece* piece : first_of_each_stream()) wanted.push_back({piece->fd, piece->direction, 0});
    if (poll(wanted.data(), wanted.size(), kStuckMs) == 0) throw stuck();
  }

  Error stuck() const {
    std::vector<int> peers;
    for (const Piece& piece : pieces_) peers.push_back(piece.peer);
    return run_error(fmt::format("nothing came from or went to {} for {} s (channel {})", rank_list(peers),
                                 kStuckMs / 1000, channel_),
                     "Look at what those ranks do");
  }

  const std::vector<Descriptor>& sockets_;
  int channel_;
  const StopSign& stop_;
  std::vector<std::int64_t>& sent_;
  std::byte called_{1};  // what every call says
  std::vector<Piece> pieces_;
};

class SocketWire final : public Wire {
 public:
  SocketWire(PairSockets sockets, std::shared_ptr<StopSign> stop)
      : sockets_(std::move(sockets)), stop_(std::move(stop)) {
    for (const auto& of_channel : sockets_) sent_.emplace_back(of_channel.size(), 0);
  }

  void exchange(int channel, std::span<const Sending> sends, std::span<const Receiving> receives) override {
    move(channel, sends, receives, false);
  }

  void exchange_when_met(int channel, std::span<const Sending> sends, std::span<const Receiving> receives) override {
    move(channel, sends, receives, true);
  }

  const std::vector<std::int64_t>& sent(int channel) const override {
    return sent_.at(static_cast<std::size_t>(channel));
  }

  void stop() override { stop_->raise("the transport was stopped"); }

 private:
  void move(int channel, std::span<const Sending> sends, std::span<const Receiving> receives, bool when_met) {
    const auto at = static_cast<std::size_t>(channel);
    StepExchange exchange(sockets_.at(at), channel, *stop_, sent_.at(at));
    for (const Receiving& one : receives)
      if (when_met && one.bytes > 0) exchange.add_call(one.peer, POLLOUT);
    for (const Sending& one : sends)
      if (when_met && one.bytes > 0) exchange.add_call(one.peer, POLLIN);
    for (const Sending& one : sends) exchange.add(one.peer, POLLOUT, const_cast<std::byte*>(one.data), one.bytes);
    for (const Receiving& one : receives) exchange.add(one.peer, POLLIN, one.data, one.bytes);
    exchange.run();
  }

  const PairSockets sockets_;
  std::vector<std::vector<std::int64_t>> sent_;  // [channel][peer]
  std::shared_ptr<StopSign> stop_;               // shared with the rendezvous, which may live longer
};

}  // namespace

std::unique_ptr<Wire> connect_sockets(Rendezvous& rendezvous, int channels) {
  auto stop = std::make_shared<StopSign>();
  rendezvous.on_failure([stop](const std::string& why) { stop->raise(why); });
  PairSockets sockets = connect_pairs(rendezvous, channels, *stop);
  return std::make_unique<SocketWire>(std::move(sockets), std::move(stop));
}

}  // namespace shardsim
