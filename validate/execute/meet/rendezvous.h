#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "validate/execute/meet/failure_cause.h"
#include "validate/execute/meet/frame.h"
#include "validate/execute/meet/join.h"
#include "validate/execute/meet/launch.h"
#include "validate/execute/meet/tcp.h"

namespace shardsim {

inline constexpr std::size_t kShortText = 1 << 20;  // bytes

struct RendezvousLimits {
  double silence_s = 8;       // a rank that says nothing for so long has gone; each says something every second
  double collective_s = 300;  // from the first rank's call to the last one's
  double grace_s = 0.25;      // from the first trouble to the verdict
  std::string clock;          // whose clock this is; "": clock_identity()
};

// The meeting point of the ranks of a run: a star of TCP connections to rank 0 that carries small messages outside the
// timed parts, and that notices when a rank has gone. Not for bulk data.
//
// A rank that ends without leave(), calls fail(), or is not heard of within a limit (RendezvousLimits) fails the run:
// every other rank's pending and later calls throw Error (Failure::run) with one message that names the rank and what
// it was doing. Several ranks may be threads of one process. One thread per rank makes the collective calls; any thread
// sends, and a watch thread reads all that comes, so that a failure is seen whatever the rank's own threads do.
class Rendezvous {
 public:
  // Returns when all ranks are here. Errors (Failure::run): the port is taken, and so are Launch::other_ports (names it
  // and the remedy); MASTER_ADDR is no address of rank 0's host; another secret here than at rank 0; after `limit_s`
  // seconds the missing ranks are named, on every rank that is there. Failure::input: a secret is needed and there is
  // none.
  static std::unique_ptr<Rendezvous> join(const Launch& launch, double limit_s = kJoinLimit,
                                          const RendezvousLimits& limits = {});
  ~Rendezvous();

  const Launch& launch() const { return launch_; }
  int rank() const { return launch_.rank; }
  int world_size() const { return launch_.world_size; }
  const std::string& address() const { return address_; }  // IPv4, by which the other ranks reach this one

  // The key for handshakes between any two ranks of this run, on connections of their own.
  const std::string& run_key() const { return run_key_; }
  // Connections to this rank that were turned away so far, since their other end did not know the key.
  int strangers() const { return strangers_; }
  void turned_away(int connections) { strangers_ += connections; }

  // Sets the longest text of one rank in the calls below, from now on; kShortText before the first call of this. A
  // longer one fails the run, and is never stored. All ranks must set the same length, and then make a call with short
  // texts before one of them sends a longer one, so that every rank is prepared for it.
  void allow(std::size_t text_bytes);

  // Collective: every rank calls these in the same order. `what` says in messages what was going on.
  std::vector<std::string> all_gather(std::string_view text, std::string_view what);  // by rank
  std::vector<std::string> gather(std::string_view text, std::string_view what);      // by rank; {} but at 0
  std::string from_root(std::string_view text, std::string_view what);                // rank 0's text
  void barrier(std::string_view what);

  // Seconds of CLOCK_MONOTONIC at rank 0 less those here, and how far off that may be. Ranks of one kernel share the
  // clock: 0 and 0. Else the exchange with the shortest round trip of a few hundred; the residual is half of it.
  struct ClockOffset {
    double seconds = 0;
    double residual = 0;
  };
  ClockOffset clock_offset();  // collective

  // A rank that cannot go on: tells the others why. `doing` names the operation. Callable from any thread. Returns once
  // failure() is settled, at most 2 s: what broke here may be the death of another rank, which then is the reason.
  void fail(std::string_view why, std::string_view doing);
  // Returns why the run failed ("rank 3 died during global_all_to_all"), or "" while all is well. From any thread.
  std::string failure() const;
  // Each is called once, from a thread of the rendezvous, when the run has failed (also when it already has); used to
  // stop wires and kernels. Must not outlive what it touches.
  void on_failure(std::function<void(const std::string& why)> react);
  // Says what this rank is doing, for the others' messages should it die. Cheap: told to the others up to 5 times a
  // second.
  void doing(std::string_view operation);

  // After a failure: hands this rank's text to rank 0, which gets those that arrive within `limit_s`; the others get
  // {}. Where rank 0 is no longer there, each rank gets its own text back. By rank; "" for a rank that said nothing.
  // Does not throw.
  std::vector<std::string> salvage(std::string_view text, double limit_s = 3);

  void leave();  // collective: the run is over

 private:
  using Lock = std::unique_lock<std::mutex>;
  // One collective call at one rank.
  struct Contribution {
    std::string call;  // the name of the function
    std::string what;  // was going on, for messages
    std::string text;
  };

  bool root() const { return launch_.rank == 0; }
  Rendezvous(const Launch& launch, Joined joined, RendezvousLimits limits);
  std::string call(const Contribution& contribution);
  void contribute(Lock& lock, const Contribution& contribution);
  void check_failure() const;  // mutex held, as in all that follow but for those of the watch thread
  void add(int rank, const Contribution& contribution);
  void finish_round();
  void post_to_all(const Frame& frame);
  void settle(const std::string& failure);
  void wait_for_links(Lock& lock, double limit_s);
  std::int64_t ask_root_clock();
  std::vector<std::string> salvage_at_root(std::string_view text, double limit_s);
  bool salvage_to_root(std::string_view text, double limit_s);
  void stop_watching();

  // The watch thread.
  void watch();
  void wait_for_news();
  void hear(int rank);
  void distrust(int rank);
  void take(int rank, Frame frame);
  void take_contribution(int rank, const Frame& frame);
  void lost(int rank);
  void tick();
  void look_for_silence();
  void look_for_stragglers();
  void say_alive();
  void run_reactions();
  std::string last_known(int rank) const;

  const Launch launch_;
  const RendezvousLimits limits_;
  const std::string address_, run_key_;
  const std::vector<std::unique_ptr<FrameLink>> links_;  // as in Joined

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  Contribution first_;                             // to the call under way, at rank 0; its text does not matter
  std::vector<std::optional<std::string>> texts_;  // of all contributions to it, by rank
  std::size_t here_ = 0;                           // how many have come
  TimePoint began_;                                // when the first one did
  std::optional<std::string> result_;              // of the call under way
  std::string calling_;                            // `what` of it
  bool leaving_ = false;                           // it is leave()
  bool over_ = false;                              // all have left
  FailureCause cause_;
  std::string failure_;
  std::vector<std::function<void(const std::string&)>> reactions_;
  std::string doing_, said_;  // by this rank; what the others know of it
  TimePoint said_at_;
  std::vector<std::string> heard_;  // by rank: "during X", "after X"
  std::vector<bool> gone_;          // by rank: its link is closed
  std::optional<std::int64_t> clock_answer_;
  std::vector<std::optional<std::string>> salvaged_;  // by rank, at rank 0
  bool salvage_arrived_ = false;                      // at the others

  std::atomic<int> strangers_ = 0;
  std::atomic<bool> ending_ = false;
  WakeUp wake_;
  std::thread watcher_;
};

}  // namespace shardsim
