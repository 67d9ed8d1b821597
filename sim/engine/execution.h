#pragma once

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <queue>
#include <vector>

#include "sim/engine/engine.h"
#include "sim/engine/network.h"
#include "sim/engine/node_classes.h"
#include "sim/engine/op_work.h"

namespace shardsim {

// What one rank has still to do: its streams in order, and which operations have ended.
class RankStreams {
 public:
  RankStreams(const Program& program, int rank, int iterations);  // at most so many

  struct Next {
    int op = 0;
    int iteration = 0;
  };

  // The operation at the head of a stream if it may start now; it counts as started then.
  std::optional<Next> take(int stream);
  void end(int op);

  void allow(int iterations) { iterations_ = iterations; }  // in all
  bool finished(int iteration) const;
  int streams() const { return static_cast<int>(streams_.size()); }

 private:
  struct Stream {
    std::vector<int> ops;
    std::size_t next = 0;
    int iteration = 0;
    bool busy = false;
  };
  bool ready(const Op& op, int iteration) const;

  const Program& program_;
  std::vector<Stream> streams_;
  std::vector<int> ended_;        // [op] last iteration that ended, -1 before the first
  std::vector<char> takes_part_;  // [op]
  int count_ = 0;                 // operations of an iteration
  int iterations_ = 0;
  std::vector<int> left_;  // [iteration that has begun to end] operations that have not ended
};

// One run of a Program on a network session: the event loop of the engine. Times are seconds of the session's clock.
class Execution {
 public:
  enum class Until { steady, stopped };  // stopped: iterations follow each other until the owner has seen enough
  Execution(const Program& program, const Cluster& cluster, const std::vector<OpWork>& works,
            const NodeClasses& classes, const EngineOptions& options, Until until = Until::steady);

  const std::vector<TransferRoute>& routes() const { return routes_; }
  void run(NetworkSession& session);  // until it is steady

  // The parts of `run`, for a loop that drives several executions on one session.
  void begin(NetworkSession& session);  // starts what can start now
  double next() const;                  // when something happens of itself; infinity when nothing will
  bool moving() const { return moving_ > 0; }
  void transfer_ended(TransferId transfer);
  void fire_due();  // what is due now; in an endless run, until an iteration has ended

  struct RawSpan {
    double start = 0, end = 0;
    int rank = 0, stream = 0, op = 0;
  };
  // One iteration: of all ranks that were simulated.
  struct Kept {
    std::vector<RawSpan> spans;
    double origin = 0;   // its start
    double seconds = 0;  // from the end of the iteration before it to its own end
    int iterations_run = 0;
    bool steady = false;
    std::optional<double> change{};  // of `seconds` against the iteration before, relative; nothing after a single one
  };
  const Kept& kept() const { return kept_; }                  // until steady: the last iteration
  const std::vector<double>& ends() const { return ends_; }   // of every iteration so far
  const std::deque<Kept>& recent() const { return recent_; }  // until stopped: the last few iterations

 private:
  // Compute under way on one rank; it slows down while a collective runs there (gpu.overlap_slowdown).
  struct Computing {
    int op = 0, iteration = 0;
    double started = 0;
    double left = 0;  // seconds at full speed
    double updated = 0;
    double speed = 1;
    int version = 0;  // timers of older versions are void
  };
  struct Rank {
    int number = 0;
    std::unique_ptr<RankStreams> streams;
    std::map<int, Computing> computing;  // by op
    int collectives = 0;                 // running
  };
  // A collective of one group in one iteration.
  struct Running {
    int op = 0, call = 0, iteration = 0;
    int missing = 0;                // members that have not arrived
    std::map<int, double> arrived;  // simulated rank -> when
    std::map<int, int> pending;     // simulated rank -> transfers that it waits for
    int transfers = 0;              // not ended, over all ranks
  };
  struct Timer {
    double when = 0;
    long sequence = 0;  // ties: first set, first served
    int rank = -1;      // compute of this rank ...
    int op = 0;
    int version = 0;
    int running = -1;  // ... or the start phase of this collective
    bool operator>(const Timer& other) const {
      return when != other.when ? when > other.when : sequence > other.sequence;
    }
  };

  void declare_routes();
  void advance_rank(int index);
  void start_compute(int index, RankStreams::Next next);
  void update_computing(Rank& rank, Computing& computing);
  void collective_count(int index, int change);
  void computing_count(int index, int change);
  void arrive(int index, RankStreams::Next next);
  void move_bytes(int id);
  void end_where_done(int id);
  void fire(const Timer& timer);
  void end_collective_if_done(Running& running, int index);
  void end_op(int index, int op, int iteration, double started);
  void iteration_ended();
  Kept take_iteration(double seconds);
  void allow_one_more();
  bool simulated(int rank) const { return classes_.is_representative(cluster_.node_of(rank)); }
  bool simulated(const Link& link) const;
  int stand_in(int rank) const;
  double now() const { return session_->now().value; }
  void set_timer(Timer timer);

  const Program& program_;
  const Cluster& cluster_;
  const std::vector<OpWork>& works_;
  const NodeClasses& classes_;
  const EngineOptions& options_;
  const Until until_;

  std::vector<Rank> ranks_;
  std::vector<int> index_of_rank_;  // -1: not simulated
  std::vector<TransferRoute> routes_;
  std::vector<std::vector<std::vector<int>>> route_of_load_;  // [op][call][load]; -1: not simulated
  std::vector<std::vector<int>> ranks_on_link_;               // simulated ranks that wait for a link
  std::vector<int> computing_on_link_;

  NetworkSession* session_ = nullptr;
  std::priority_queue<Timer, std::vector<Timer>, std::greater<>> timers_;
  long sequence_ = 0;
  std::vector<Running> running_;                      // grows; ended ones are empty
  std::map<std::tuple<int, int, int>, int> current_;  // (op, call, iteration) -> running_
  struct Transfer {
    int running = 0;
    LinkId link = 0;
  };
  std::vector<Transfer> transfers_;            // by TransferId
  int moving_ = 0;                             // transfers that have not ended
  std::map<int, std::vector<RawSpan>> spans_;  // by iteration that has not ended
  int iteration_ = 0;                          // the one that has to end next
  double last_end_ = 0, last_seconds_ = -1;
  std::vector<double> ends_;
  bool done_ = false;
  Kept kept_;
  std::deque<Kept> recent_;
};

// The Timeline of one iteration of the Program, spans of the simulated nodes repeated for those they stand for.
Timeline timeline_of(const Execution::Kept& kept, const Program& program, const std::vector<OpWork>& works,
                     const NodeClasses& classes, const Cluster& cluster);

// Seconds that one iteration occupies each link of the cluster.
std::vector<double> link_seconds(const std::vector<OpWork>& works, const Cluster& cluster);

// The busiest of the cluster's links ([link] busy seconds out of `seconds`); of links that are busy alike but for
// rounding the first.
Utilisation busiest_link(const std::vector<double>& busy, const Cluster& cluster, double seconds);

// The stream of a rank that works longest, collectives apart, over an iteration of so many seconds. Streams overlap, so
// each counts by itself.
Utilisation busiest_rank(const Program& program, const std::vector<OpWork>& works, double iteration_seconds);

}  // namespace shardsim
