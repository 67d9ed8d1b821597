#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>

#include "validate/execute/devices/machine_facts.h"
#include "validate/execute/meet/clock.h"
#include "validate/execute/run/execute.h"
#include "validate/execute/run/observed_timeline.h"
#include "validate/execute/run/watchdog.h"

namespace shardsim {

// One rank of a run under way: a machine that stops when the run fails, and the common start.
class RankRun {
 public:
  // Errors: those of the machine.
  RankRun(const IterationPrograms& programs, Rendezvous& rendezvous, const ExecuteOptions& options);

  Machine& machine() { return *machine_; }

  // A rank that breaks here is noticed by the others as in any iteration.
  void prepare();
  // All ranks start at one time of rank 0's clock. Returns seconds from there to this rank's end.
  double iterate(int first, int count, int first_kept);
  // Collective, once all iterations have ended: measures the clocks again, which drift, and how long iterations take
  // without what observes them. Spans reported later are corrected.
  void finish(int next, int count, bool observed);
  RankReport report();  // what this rank has to tell so far

 private:
  void measure_clock();

  Rendezvous& rendezvous_;
  std::shared_ptr<Machine> machine_;
  ClockLine clock_;  // of rank 0, from here
  Facts facts_;      // found by the run itself
};

// A run from its first word to its end, and what happens when it fails: the others are told, what was measured is
// saved, and only then does the machine abort what still runs on it. If this rank's thread does not return from the
// machine, the thread of the watchdog does this in its place; if the machine does not end even then, the watchdog ends
// the process (ExecuteOptions).
class Attempt {
 public:
  // The options must outlive it.
  Attempt(Rendezvous& rendezvous, const ExecuteOptions& options);
  ~Attempt();
  Attempt(const Attempt&) = delete;
  Attempt& operator=(const Attempt&) = delete;

  // Before run(). `remains` is called after a failure, `all` where `body` has ended well and the machine hangs after
  // it.
  void save_by(std::function<void(RankRun&)> remains, std::function<void()> all);

  // `body` is given the run, ready to iterate. Errors leave with the reason that the ranks agreed on.
  void run(const IterationPrograms& programs, const std::function<void(RankRun&)>& body);

 private:
  void follow(const IterationPrograms& programs, const std::function<void(RankRun&)>& body);
  [[noreturn]] void fail(const Error& error);
  std::string saved();
  void give_up();

  Rendezvous& rendezvous_;
  const ExecuteOptions& options_;
  std::function<void(RankRun&)> save_remains_;
  std::function<void()> save_all_;
  std::unique_ptr<RankRun> run_;
  std::atomic<bool> prepared_ = false;  // run_ is there, on every rank
  std::atomic<bool> ending_ = false;    // what was measured is somebody's to save, or saved
  std::atomic<bool> finished_ = false;  // body has ended well
  std::shared_ptr<Watchdog> watchdog_;
};

}  // namespace shardsim
