#pragma once

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "validate/execute/meet/failure_cause.h"
#include "validate/execute/meet/frame.h"
#include "validate/execute/meet/launch.h"
#include "validate/execute/meet/rendezvous.h"
#include "validate/execute/meet/tcp.h"

namespace shardsim {

// How the ranks of a run find each other.
struct Joined {
  std::vector<std::unique_ptr<FrameLink>> links;  // by rank: of rank 0 to all others, of a rank to rank 0; else null
  std::string address;                            // IPv4, by which the other ranks reach this one
};

// Errors as Rendezvous::join.
Joined join_ranks(const Launch& launch, double limit_s);

// The two sides of it.
Joined join_as_root(const Launch& launch, double limit_s);
Joined join_as_member(const Launch& launch, double limit_s);

// One collective call of a rendezvous at one rank.
struct Contribution {
  enum class Call { all_gather, gather, from_root, barrier, leave };
  Call call = Call::barrier;
  std::string what;  // was going on, for messages
  std::string text;
};
std::string packed_contribution(const Contribution& contribution);
std::optional<Contribution> unpacked_contribution(std::string_view text);

// The contributions to the call under way, at rank 0.
class Round {
 public:
  explicit Round(int world_size) : contributions_(static_cast<std::size_t>(world_size)) {}

  // "", or why it does not fit: another call than the others', or a second one.
  std::string add(int rank, Contribution contribution);
  bool complete() const { return here_ == contributions_.size(); }
  // What is sent to the others (`own`: what rank 0 gets) once complete.
  std::string result(bool own) const;
  Contribution::Call call() const;
  std::string what() const;  // of the lowest rank that has come; "" while nobody has
  std::vector<int> missing() const;
  // Seconds since the first contribution; 0 while there is none.
  double age() const;
  void clear();

 private:
  const Contribution* first() const;

  std::vector<std::optional<Contribution>> contributions_;
  std::size_t here_ = 0;
  TimePoint began_;
};

struct RendezvousLimits {
  double silence_s = 8;       // a rank that says nothing for so long has gone; each says something every second
  double collective_s = 300;  // from the first rank's call to the last one's
  double grace_s = 0.25;      // from the first trouble to the verdict
  std::string clock;          // whose clock this is; "": clock_identity()
};

// The one Rendezvous there is. A watch thread per rank reads all that comes, so that a failure is seen whatever the
// rank's own threads do; any thread sends.
class Star final : public Rendezvous {
 public:
  Star(const Launch& launch, Joined joined, RendezvousLimits limits = {});
  ~Star() override;

  const Launch& launch() const override { return launch_; }
  std::string address() const override { return address_; }
  std::vector<std::string> all_gather(std::string_view text, std::string_view what) override;
  std::vector<std::string> gather(std::string_view text, std::string_view what) override;
  std::string from_root(std::string_view text, std::string_view what) override;
  void barrier(std::string_view what) override;
  ClockOffset clock_offset() override;
  void fail(std::string_view why, std::string_view doing) override;
  std::string failure() const override;
  void on_failure(std::function<void(const std::string&)> react) override;
  void doing(std::string_view operation) override;
  std::vector<std::string> salvage(std::string_view text, double limit_s) override;
  void leave() override;

 private:
  using Lock = std::unique_lock<std::mutex>;

  bool root() const { return launch_.rank == 0; }
  std::string call(Contribution contribution);
  void contribute(Lock& lock, const Contribution& contribution);
  void check_failure() const;  // mutex held, as in all that follow but for those of the watch thread
  void finish_round_if_complete();
  void post_to_all(const Frame& frame);
  void settle(const std::string& failure);
  bool any_link_open() const;
  void wait_for_links(Lock& lock, double limit_s);
  std::int64_t ask_root_clock();
  std::vector<std::string> salvage_at_root(std::string_view text, double limit_s);
  bool salvage_to_root(std::string_view text, double limit_s);
  void part();
  void stop_watching();

  // The watch thread.
  void watch();
  void wait_for_news();
  void hear(int rank);
  void take(int rank, Frame frame);
  void take_contribution(int rank, const Frame& frame);
  void take_report(int rank, const Frame& frame);
  void lost(int rank);
  void tick();
  void look_for_silence();
  void look_for_stragglers();
  void say_alive();
  void run_reactions();
  std::string last_known(int rank) const;

  const Launch launch_;
  const RendezvousLimits limits_;
  const std::string address_;
  const std::vector<std::unique_ptr<FrameLink>> links_;  // as in Joined

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  Round round_;                        // at rank 0
  std::optional<std::string> result_;  // of the call under way
  std::string calling_;                // `what` of it
  bool leaving_ = false;               // it is leave()
  bool over_ = false;                  // all have left
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

  std::atomic<bool> ending_ = false;
  WakeUp wake_;
  std::thread watcher_;
};

}  // namespace shardsim
