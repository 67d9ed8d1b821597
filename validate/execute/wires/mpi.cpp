#include <fmt/format.h>
#include <mpi.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <exception>
#include <fstream>
#include <thread>
#include <utility>
#include <vector>

#include "base/error.h"
#include "validate/execute/meet/failure_cause.h"
#include "validate/execute/meet/tcp.h"
#include "validate/execute/wires/wire.h"

namespace shardsim {
namespace {

constexpr std::size_t kPiece = 16 << 20;  // bytes of one message: far below MPI's 2^31 - 1, and each shows progress
constexpr double kStuckS = 60;            // without a piece that is complete
// Between two looks. MPI's own waiting takes a whole core, and ranks that share cores then wait for each other.
constexpr useconds_t kPauseUs = 50;

std::string mpi_text(int code) {
  std::array<char, MPI_MAX_ERROR_STRING + 1> text{};
  int length = 0;
  MPI_Error_string(code, text.data(), &length);
  return text.data();
}

void check(int code, const std::string& doing) {
  if (code != MPI_SUCCESS) throw run_error(fmt::format("MPI failed while {}: {}", doing, mpi_text(code)), "");
}

// Requests under way, and what each of them is.
class Requests {
 public:
  Requests(const StopSign& stop, std::string doing) : stop_(stop), doing_(std::move(doing)) {}

  // `start` gives MPI the request. peer -1: all ranks; bytes -1: of no interest.
  template <typename Start>
  void add(int peer, int bytes, Start start) {
    MPI_Request request = MPI_REQUEST_NULL;
    check(start(&request), peer < 0 ? doing_ : fmt::format("{} with rank {}", doing_, peer));
    requests_.push_back(request);
    facts_.push_back({peer, bytes});
  }

  void wait() {
    TimePoint deadline = after_seconds(kStuckS);
    while (true) {
      if (stop_.raised()) throw run_error(stop_.why(), "");
      if (left() == 0) return;
      if (look())
        deadline = after_seconds(kStuckS);
      else if (Clock::now() >= deadline)
        throw stuck();
      else
        usleep(kPauseUs);
    }
  }

 private:
  struct Facts {
    int peer = 0;
    int bytes = 0;
  };

  std::ptrdiff_t left() const {
    return std::ranges::count_if(requests_, [](MPI_Request request) { return request != MPI_REQUEST_NULL; });
  }

  // True when anything was completed. MPI_Testall would say so only at the end of all.
  bool look() {
    const int count = static_cast<int>(requests_.size());
    std::vector<int> done(requests_.size());
    std::vector<MPI_Status> statuses(requests_.size());
    int completed = 0;
    const int code = MPI_Testsome(count, requests_.data(), &completed, done.data(), statuses.data());
    if (code != MPI_SUCCESS && code != MPI_ERR_IN_STATUS) check(code, doing_);
    for (int i = 0; i < completed; ++i)
      check_status(facts_[done[i]], statuses[i], code == MPI_SUCCESS ? code : statuses[i].MPI_ERROR);
    return completed > 0;
  }

  void check_status(const Facts& facts, const MPI_Status& status, int code) const {
    const std::string with = facts.peer < 0 ? doing_ : fmt::format("{} with rank {}", doing_, facts.peer);
    check(code, with);
    int bytes = 0;
    if (facts.bytes < 0) return;
    check(MPI_Get_count(&status, MPI_BYTE, &bytes), with);
    if (bytes != facts.bytes)
      throw run_error(fmt::format("{}: {} bytes came where {} were due", with, bytes, facts.bytes), "");
  }

  Error stuck() const {
    std::vector<int> peers;
    for (std::size_t i = 0; i < requests_.size(); ++i)
      if (requests_[i] != MPI_REQUEST_NULL && facts_[i].peer >= 0) peers.push_back(facts_[i].peer);
    const std::string with = peers.empty() ? "" : " with " + rank_list(peers);
    return run_error(fmt::format("nothing was completed for {:g} s: {}{}", kStuckS, doing_, with),
                     "Look at what those ranks do");
  }

  const StopSign& stop_;
  std::string doing_;
  std::vector<MPI_Request> requests_;
  std::vector<Facts> facts_;  // [request]
};

// Calls `act` with the offset and size of each piece.
template <typename Act>
void in_pieces(std::size_t bytes, Act act) {
  for (std::size_t at = 0; at < bytes; at += kPiece) act(at, static_cast<int>(std::min(kPiece, bytes - at)));
}

// A name that is different for every process, on this host and on others.
std::string process_name() {
  std::string boot;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
  std::array<char, 64> space{};  // of process numbers: containers have their own
  if (readlink("/proc/self/ns/pid", space.data(), space.size() - 1) < 0) space[0] = '\0';
  std::array<char, 256> host{};
  gethostname(host.data(), host.size() - 1);
  return fmt::format("{} {} {} {}", host.data(), boot, space.data(), getpid());
}

// MPI knows processes only. All ranks find the same.
void check_processes(Rendezvous& rendezvous) {
  const std::vector<std::string> names = rendezvous.all_gather(process_name(), "starting MPI");
  for (std::size_t rank = 0; rank < names.size(); ++rank) {
    const auto twin = std::find(names.begin() + static_cast<std::ptrdiff_t>(rank) + 1, names.end(), names[rank]);
    if (twin == names.end()) continue;
    throw run_error(fmt::format("ranks {} and {} are threads of one process, and --transport mpi needs a process for "
                                "every rank",
                                rank, twin - names.begin()),
                    fmt::format("Start with mpirun -n {}, or use --transport sockets", names.size()));
  }
}

// True when this call has started it, and its end is ours too.
bool start_mpi() {
  int is = 0, level = MPI_THREAD_SINGLE;
  check(MPI_Finalized(&is), "starting");
  if (is) throw run_error("MPI has ended in this process and cannot start again", "Use a process for every run");
  check(MPI_Initialized(&is), "starting");
  if (is)
    check(MPI_Query_thread(&level), "starting");
  else
    check(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &level), "starting");
  if (level < MPI_THREAD_MULTIPLE)
    throw run_error("this MPI cannot be used from several threads at once (no MPI_THREAD_MULTIPLE)",
                    "Use another MPI, or --transport sockets");
  // An error is to be told by us, and must not end the process before what was measured is saved.
  check(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN), "starting");
  return !is;
}

std::string seat_text(int rank, int world_size) {
  return fmt::format("rank {} of {}", rank, world_size);
}

// Ranks that several launchers numbered, or that none started, do not know each other in MPI. All ranks find the same.
void check_ranks(Rendezvous& rendezvous) {
  int rank = 0, size = 0;
  check(MPI_Comm_rank(MPI_COMM_WORLD, &rank), "starting");
  check(MPI_Comm_size(MPI_COMM_WORLD, &size), "starting");
  const std::vector<std::string> seats = rendezvous.all_gather(seat_text(rank, size), "starting MPI");
  for (int each = 0; each < rendezvous.world_size(); ++each) {
    const std::string due = seat_text(each, rendezvous.world_size());
    if (seats[each] == due) continue;
    throw run_error(fmt::format("{} is {} to MPI", due, seats[each]),
                    "Start all ranks by one mpirun, of the MPI that this was built with, and set no variables of "
                    "torchrun (RANK, WORLD_SIZE)");
  }
}

// When a rank has gone Open MPI's mpirun sends SIGTERM to all others at once, and SIGKILL when another one has ended, a
// second later at most. The ranks need that second to hear of it from the rendezvous and to save what was measured: so
// SIGTERM ends them kLastSeconds later, and after a failure they stay for kLingerMs, while one of them writes.
constexpr unsigned kLastSeconds = 3;
constexpr int kLingerMs = 500;

struct sigaction delay_termination() {
  struct sigaction late {};
  late.sa_handler = [](int) { alarm(kLastSeconds); };
  late.sa_flags = SA_RESTART;
  struct sigaction before {};
  sigaction(SIGTERM, &late, &before);
  return before;
}

class MpiWire final : public Wire {
 public:
  MpiWire(bool ends_mpi, int world_size, std::shared_ptr<StopSign> stop)
      : ends_mpi_(ends_mpi), world_size_(static_cast<std::size_t>(world_size)), stop_(std::move(stop)) {}

  // After a failure MPI is left as it is: peers may have gone, for which MPI_Finalize would wait.
  ~MpiWire() override {
    try {
      if (!stop_->raised() && std::uncaught_exceptions() == exceptions_) {
        end();
        return;
      }
    } catch (const Error&) {  // a rank failed meanwhile: the rendezvous says so
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(kLingerMs));
  }

  MpiWire(const MpiWire&) = delete;
  MpiWire& operator=(const MpiWire&) = delete;

  void open(int channels) {
    channels_.resize(static_cast<std::size_t>(channels), MPI_COMM_NULL);
    sent_.assign(channels_.size(), std::vector<std::int64_t>(world_size_, 0));
    for (MPI_Comm& channel : channels_) {
      wait_for_all("connecting",
                   [&](MPI_Request* request) { return MPI_Comm_idup(MPI_COMM_WORLD, &channel, request); });
    }
  }

  void exchange(int channel, std::span<const Sending> sends, std::span<const Receiving> receives) override {
    guarded([&] {
      if (stop_->raised()) throw run_error(stop_->why(), "");
      const MPI_Comm comm = channels_.at(static_cast<std::size_t>(channel));
      Requests requests(*stop_, fmt::format("exchanging (channel {})", channel));
      for (const Receiving& one : receives) add(requests, comm, one);
      for (const Sending& one : sends) add(requests, comm, one);
      requests.wait();
      for (const Sending& one : sends) sent_[channel][one.peer] += static_cast<std::int64_t>(one.bytes);
    });
  }

  const std::vector<std::int64_t>& sent(int channel) const override {
    return sent_.at(static_cast<std::size_t>(channel));
  }

  void stop() override { stop_->raise("the transport was stopped"); }

 private:
  static void add(Requests& requests, MPI_Comm comm, const Receiving& one) {
    in_pieces(one.bytes, [&](std::size_t at, int bytes) {
      requests.add(one.peer, bytes, [&](MPI_Request* request) {
        return MPI_Irecv(one.data + at, bytes, MPI_BYTE, one.peer, 0, comm, request);
      });
    });
  }

  static void add(Requests& requests, MPI_Comm comm, const Sending& one) {
    in_pieces(one.bytes, [&](std::size_t at, int bytes) {
      requests.add(one.peer, -1, [&](MPI_Request* request) {
        return MPI_Isend(one.data + at, bytes, MPI_BYTE, one.peer, 0, comm, request);
      });
    });
  }

  // Whoever throws leaves messages under way into memory that is about to go: nobody here calls MPI from then on, and
  // what nobody calls moves nothing.
  template <typename Act>
  void guarded(Act act) {
    try {
      act();
    } catch (const Error& error) {
      stop_->raise(error.what());
      throw;
    }
  }

  template <typename Start>
  void wait_for_all(const std::string& doing, Start start) {
    guarded([&] {
      Requests requests(*stop_, doing + " all ranks");
      requests.add(-1, -1, start);
      requests.wait();
    });
  }

  // All ranks are well here, or nobody waits for the others in MPI_Finalize.
  void end() {
    wait_for_all("leaving", [&](MPI_Request* request) {
      return MPI_Ibarrier(channels_.empty() ? MPI_COMM_WORLD : channels_[0], request);
    });
    for (MPI_Comm& channel : channels_) check(MPI_Comm_free(&channel), "leaving");
    if (ends_mpi_) check(MPI_Finalize(), "leaving");
    sigaction(SIGTERM, &termination_, nullptr);
  }

  const bool ends_mpi_;
  const std::size_t world_size_;
  const struct sigaction termination_ = delay_termination();
  const int exceptions_ = std::uncaught_exceptions();
  std::vector<MPI_Comm> channels_;               // a communicator each, so that messages of one never meet another's
  std::vector<std::vector<std::int64_t>> sent_;  // [channel][peer]
  std::shared_ptr<StopSign> stop_;               // shared with the rendezvous, which may live longer
};

}  // namespace

std::unique_ptr<Wire> connect_mpi(Rendezvous& rendezvous, int channels) {
  auto stop = std::make_shared<StopSign>();
  rendezvous.on_failure([stop](const std::string& why) { stop->raise(why); });
  check_processes(rendezvous);
  const bool ends_mpi = start_mpi();
  check_ranks(rendezvous);
  auto wire = std::make_unique<MpiWire>(ends_mpi, rendezvous.world_size(), std::move(stop));
  wire->open(channels);
  return wire;
}

}  // namespace shardsim
