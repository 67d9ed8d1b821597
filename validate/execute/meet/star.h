#pragma once

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>

#include "validate/execute/meet/join.h"
#include "validate/execute/meet/rendezvous.h"
#include "validate/execute/meet/round.h"
#include "validate/execute/meet/verdict.h"
#include "validate/execute/meet/wake_up.h"

namespace shardsim {

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
  const Descriptor door_;                                // for salvage among orphans
  std::vector<Address> doors_;                           // by rank

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  Round round_;                        // at rank 0
  std::optional<std::string> result_;  // of the call under way
  std::string calling_;                // `what` of it
  bool leaving_ = false;               // it is leave()
  bool over_ = false;                  // all have left
  Verdict verdict_;
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
