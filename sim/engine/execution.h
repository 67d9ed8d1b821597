#pragma once

#include <algorithm>
#include <boost/container/small_vector.hpp>
#include <deque>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "sim/engine/earliest.h"
#include "sim/engine/engine.h"
#include "sim/engine/group_members.h"
#include "sim/engine/network.h"
#include "sim/engine/node_classes.h"
#include "sim/engine/op_work.h"
#include "sim/engine/rank_streams.h"
#include "sim/engine/transfer_log.h"

namespace shardsim {

inline constexpr double kMostSimulatedSeconds = 1e6;  // what a Timeline may hold (program/timeline/timeline.cpp)

// One run of a Program on a network session: the event loop of the engine. Times are seconds of the session's clock.
class Execution {
 public:
  // Iterations that a rank which waits for nobody may run ahead of the others, where there is no last iteration.
  static constexpr int kAhead = 4;

  // stopped: iterations follow each other until the owner stops them; all: as many as the options say, even if they
  // become steady before that.
  enum class Until { steady, stopped, all };
  // The spans that are kept: those of the last few iterations; of the last one, for those who ask for no path through
  // it; or none, for those who ask for its length alone.
  enum class Keep { recent, last, none };
  Execution(const Program& program, const Cluster& cluster, IterationWorks works, const NodeClasses& classes,
            const EngineOptions& options, Until until = Until::steady, Keep keep = Keep::recent);

  const std::vector<TransferRoute>& routes() const { return routes_; }
  void run(NetworkSession& session);  // until it is steady, or all iterations have run

  // The parts of `run`, for a loop that drives several executions on one session.
  void begin(NetworkSession& session);  // starts what can start now
  double next() const;                  // when something happens of itself; infinity when nothing will
  bool moving() const { return moving_ > 0; }
  void transfer_ended(TransferId transfer);
  void fire_due();  // what is due now; in an endless run, until an iteration has ended

  struct RawSpan {
    double start = 0, end = 0;
    int rank = 0, stream = 0, op = 0;
    LinkId link = -1;  // collective: on which the last bytes came that this rank waited for; -1: none came
  };
  // One iteration: of all ranks that were simulated.
  struct Kept {
    std::vector<RawSpan> spans;
    double origin = 0;            // its start
    double began = 0, ended = 0;  // the end of the iteration before it, and its own
    double seconds = 0;           // between these; where jobs share a fabric, what such an iteration takes in the mean
    int iterations_run = 0;
    bool steady = false;
    std::optional<double> change{};  // of `seconds` against the iteration before, relative; nothing after a single one
  };
  // The spans that a run leaves.
  struct Outcome {
    Kept kept;                // as kept()
    std::deque<Kept> recent;  // as recent()
  };
  Outcome outcome() && { return {std::move(kept_), std::move(recent_)}; }
  const Kept& kept() const { return kept_; }                 // until steady: the last iteration
  const std::vector<double>& ends() const { return ends_; }  // of every iteration so far
  // The last few iterations; until all have run: every one. None unless they are kept.
  const std::deque<Kept>& recent() const { return recent_; }

 private:
  // Compute under way on one rank; it slows down while a collective runs there (gpu.overlap_slowdown), and beside other
  // compute (gpu.stream_sharing).
  struct Computing {
    int op = 0, iteration = 0;
    double started = 0;
    double left = 0;  // seconds at full speed
    double updated = 0;
    double speed = 1;
    long version = 0;  // timers of older versions are void, those of the iteration before, too
  };
  struct Rank {  // NOLINT(bugprone-exception-escape): as of RankStreams
    using Computings = boost::container::small_vector<Computing, 1>;
    int number = 0;
    int collectives = 0;     // running
    int sharing = 0;         // computing operations that share the GPU
    Computings computing{};  // by rising op; a few at most
    RankStreams streams;

    Computings::iterator place_of(int op) { return std::ranges::lower_bound(computing, op, {}, &Computing::op); }
  };
  // A link that simulated ranks use. A large world has hundreds of thousands, each asked for at every end of a
  // transfer, when no cache holds it: so all that is asked then lies together.
  struct UsedLink {
    LinkId link = 0;
    int computing = 0;                   // simulated ranks that wait for it, and compute
    int first_waiting = 0, waiting = 0;  // simulated ranks that wait for it, in waiting_ranks_
  };
  // A collective of one rank set in one iteration. Its members are simulated ranks, by position (GroupMembers).
  struct Running {
    struct Member {
      double arrived = 0;
      int pending = 0;  // transfers that it waits for
      bool inside = false;
      int last_used = -1;  // link in use on which a transfer that it waits for ended last; -1: none
    };
    int op = 0, call = 0, iteration = 0;
    int missing = 0;              // members that have not arrived
    int inside = 0;               // those that have, and have not left
    int transfers = 0;            // not ended, over all ranks
    bool synchronising = false;   // all members leave together, with the last transfer
    int last_used = -1;           // link in use of the last one that ended
    std::vector<Member> members;  // none once all have left
  };
  struct Timer {
    double when = 0;
    long sequence = 0;  // ties: first set, first served
    long version = 0;
    int rank = -1;  // compute of this rank ...
    int op = 0;
    int running = -1;  // ... or the start phase of this collective
    bool operator>(const Timer& other) const {
      return when != other.when ? when > other.when : sequence > other.sequence;
    }
  };

  void take_ranks();
  void take_links();
  void deal_ops(const std::vector<int>& numbers);
  void take_groups();
  void declare_loads();
  std::vector<char> leaves_in_use() const;
  void advance_rank(int index);
  void start_compute(int index, RankStreams::Next next);
  void update_computing(Rank& rank, Computing& computing);
  void collective_count(int index, int change);
  void computing_count(int index, const Op& op, int change);
  double speed_of(const Rank& rank, const Op& op) const;
  void arrive(int index, RankStreams::Next next);
  int running_id(const RankStreams::Next& next, int call);
  void move_bytes(int id);
  // Calls `visit` with the position of each member of the collective that waits for that link in use.
  template <typename Visit>
  void for_each_waiting(int id, int used, const Visit& visit) const;
  void end_waiting_for(int used, int id);
  void end_where_done(int id);
  void fire(const Timer& timer);
  void end_if_done(int id, int position);
  void end_op(int index, int op, int iteration, double started, LinkId link = -1);
  std::vector<RawSpan>& spans_of(int iteration);
  void iteration_ended();
  Kept take_iteration(double seconds);
  void count_unfinished();
  void allow_one_more();
  bool simulated(int rank) const { return classes_.is_representative(cluster_.node_of(rank)); }
  double now() const { return session_->now().value; }
  void set_timer(Timer timer);
  void fetch(const Rank& rank) const;
  void fetch_soon() const;
  void fetch_ending(std::span<const TransferId> ended, std::size_t soon) const;

  const Program& program_;
  const Cluster& cluster_;
  const IterationWorks works_;
  const NodeClasses& classes_;
  const EngineOptions& options_;
  const Until until_;
  const Keep keep_;

  RankStreams::Orders orders_;  // of all ranks
  std::vector<Rank> ranks_;
  std::vector<int> index_of_rank_;  // -1: not simulated
  // One transfer of a call.
  struct Load {
    int used = 0;  // link, among those in use
    int route = 0;
    double bytes = 0;
  };

  std::vector<TransferRoute> routes_;  // one per link in use and cap
  std::vector<int> used_index_;        // [link], -1: no simulated rank uses it
  std::vector<UsedLink> used_;
  std::vector<int> waiting_ranks_;  // simulated ones, of one link in use after the other
  std::span<const int> waiting_for(const UsedLink& used) const;
  using Loads = std::vector<std::vector<std::vector<Load>>>;  // [op][call]; of links in use
  std::vector<Loads> loads_;                                  // [kind of iteration]
  std::map<std::string, GroupMembers> groups_;
  std::vector<const GroupMembers*> group_of_;  // [op]; null for compute
  std::vector<std::size_t> first_call_;        // [op] where its calls begin among those of all operations

  NetworkSession* session_ = nullptr;
  Earliest<Timer> timers_;
  long sequence_ = 0, versions_ = 0;
  std::vector<Running> running_;  // grows; ended ones are empty
  struct Current {
    int iteration = 0, id = 0;  // in running_
  };
  std::vector<std::vector<Current>> current_;  // [call of an op] those that have not ended, one per iteration
  std::vector<Current>& current_of(int op, int call) { return current_[first_call_[op] + call]; }
  TransferLog transfers_;
  int moving_ = 0;                             // transfers that have not ended
  std::map<int, std::vector<RawSpan>> spans_;  // by iteration that has not ended
  std::size_t spans_of_all_ = 0;               // that an iteration has in the end, at most
  int iteration_ = 0;                          // the one that has to end next
  int unfinished_ = 0;                         // ranks that have not finished it
  double last_end_ = 0, last_seconds_ = -1;
  std::vector<double> ends_;
  bool done_ = false;
  Kept kept_;
  std::deque<Kept> recent_;  // before kept_, where there is one
};

// The Timeline of one iteration of the Program, spans of the simulated nodes repeated for those they stand for.
Timeline timeline_of(const Execution::Kept& kept, const Program& program, const std::vector<OpWork>& works,
                     const NodeClasses& classes, const Cluster& cluster);
// The same but for the bytes of ranks (hbm_bytes, bytes_out, bytes_in, flow), which take longer than all the rest.
Timeline timeline_without_traffic(const Execution::Kept& kept, const Program& program, const std::vector<OpWork>& works,
                                  const NodeClasses& classes, const Cluster& cluster);

// That iteration as a simulation says it: its Timeline and what is busiest.
SimulationResult simulation_result(const Execution::Kept& kept, const Program& program,
                                   const std::vector<OpWork>& works, const NodeClasses& classes,
                                   const Cluster& cluster);

// Seconds that one iteration occupies each link of the cluster.
std::vector<double> link_seconds(const std::vector<OpWork>& works, const Cluster& cluster);

// The busiest of the cluster's links ([link] busy seconds out of `seconds`); of links that are busy alike but for
// rounding the first.
Utilisation busiest_link(const std::vector<double>& busy, const Cluster& cluster, double seconds);

// The busier of a link and a rank, for at most all of the time: without contention (closed_form) a link carries in an
// iteration what it could not, and one that is not steady has work of its neighbours.
Utilisation busier(const Utilisation& link, const Utilisation& rank);

}  // namespace shardsim
