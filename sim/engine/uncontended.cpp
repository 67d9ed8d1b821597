#include "sim/engine/uncontended.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <string>

#include "sim/engine/execution.h"
#include "sim/engine/group_members.h"

namespace shardsim {
namespace {

bool slows_down(const Cluster& cluster) {
  return cluster.spec().gpu.overlap_slowdown > 0 || cluster.spec().gpu.stream_sharing > 0;
}

// The simulated ranks, and the links that they load.
struct SimulatedPart {
  SimulatedPart(const Cluster& cluster, const NodeClasses& classes)
      : index_of_rank(static_cast<std::size_t>(cluster.world_size()), -1), in_use(cluster.links().size(), false) {
    std::vector<bool> leaves(static_cast<std::size_t>(std::max(cluster.leaves(), 1)), false);
    for (int rank = 0; rank < cluster.world_size(); ++rank) {
      const int node = cluster.node_of(rank);
      if (!classes.is_representative(node)) continue;
      index_of_rank[static_cast<std::size_t>(rank)] = static_cast<int>(numbers.size());
      numbers.push_back(rank);
      leaves[static_cast<std::size_t>(cluster.leaf_of(node))] = true;
    }
    for (std::size_t id = 0; id < in_use.size(); ++id) {
      const Link& link = cluster.links()[id];
      in_use[id] =
          link.node >= 0 ? classes.is_representative(link.node) : bool(leaves[static_cast<std::size_t>(link.leaf)]);
    }
  }

  std::vector<int> numbers;        // [simulated rank]
  std::vector<int> index_of_rank;  // -1: not simulated
  std::vector<bool> in_use;        // [link]
};

// One rank set of a collective: when its members leave, after the last of them has come.
struct Meeting {
  double start = 0;                 // before bytes move
  const std::vector<int>* members;  // simulated ranks
  std::vector<double> moving;       // [member] seconds that it waits for bytes
};

// Finds the time that the loads of a call take each member.
class MovingTimes {
 public:
  MovingTimes(const Cluster& cluster, const SimulatedPart& part)
      : cluster_(cluster), part_(part), of_link_(cluster.links().size(), 0.0) {}

  std::vector<double> of(const CollectiveLoads& loads, const std::vector<int>& members) {
    double longest = 0;
    for_each(loads, [&](LinkId link, double seconds) {
      of_link_[static_cast<std::size_t>(link)] = std::max(of_link_[static_cast<std::size_t>(link)], seconds);
      longest = std::max(longest, seconds);
    });
    std::vector<double> moving(members.size(), longest);
    for (std::size_t member = 0; !loads.synchronising && member < members.size(); ++member)
      moving[member] = longest_of(part_.numbers[static_cast<std::size_t>(members[member])]);
    for_each(loads, [&](LinkId link, double) { of_link_[static_cast<std::size_t>(link)] = 0; });
    return moving;
  }

 private:
  template <typename Visit>
  void for_each(const CollectiveLoads& loads, const Visit& visit) const {
    for (const LinkLoad& load : loads.loads) {
      if (!part_.in_use[static_cast<std::size_t>(load.link)] || !(load.occupancy > 0)) continue;
      const double rate = cluster_.links()[static_cast<std::size_t>(load.link)].rate.bytes_per_second;
      const double cap = load.cap.bytes_per_second;
      visit(load.link, load.occupancy / (cap > 0 ? std::min(cap, rate) : rate));
    }
  }

  double longest_of(int rank) const {
    double longest = 0;
    for (const LinkId link : cluster_.links_of(rank))
      longest = std::max(longest, of_link_[static_cast<std::size_t>(link)]);
    return longest;
  }

  const Cluster& cluster_;
  const SimulatedPart& part_;
  std::vector<double> of_link_;  // of the call that is looked at
};

// The iterations of a Program, one after the other.
class UncontendedRun {
 public:
  UncontendedRun(const Program& program, const Cluster& cluster, const std::vector<OpWork>& works,
                 const NodeClasses& classes)
      : program_(program),
        works_(works),
        part_(cluster, classes),
        free_(program.streams.size(), std::vector<double>(part_.numbers.size(), 0.0)),
        ready_(part_.numbers.size()) {
    ended_ = before_ =
        std::vector<std::vector<double>>(program.ops.size(), std::vector<double>(part_.numbers.size(), 0.0));
    take_ranks();
    take_meetings(cluster);
    take_order();
  }

  // False where some operation would wait for ever, or there is none.
  bool proceeds() const { return everyone_meets_ && order_.size() == program_.ops.size() && !order_.empty(); }

  // Runs the next iteration, of which nothing starts before `held`; returns when it ends.
  double run(double held) {
    ended_.swap(before_);
    double end = 0;
    for (const int id : order_) {
      const auto op = static_cast<std::size_t>(id);
      find_ready(program_.ops[op], held);
      works_[op].is_collective() ? meet(op) : compute(op);
      std::vector<double>& free = free_[static_cast<std::size_t>(program_.ops[op].stream)];
      for (const int index : ranks_[op]) {
        const double ended = ended_[op][static_cast<std::size_t>(index)];
        free[static_cast<std::size_t>(index)] = ended;
        end = latest(end, ended);
      }
    }
    return end;
  }

 private:
  // A time that is no number stays, so that whoever asks finds it.
  static double latest(double a, double b) { return a >= b ? a : b; }

  void take_ranks() {
    std::vector<int> all(part_.numbers.size());
    std::iota(all.begin(), all.end(), 0);
    for (const Op& op : program_.ops) {
      ranks_.emplace_back();
      if (op.ranks.empty()) ranks_.back() = all;
      for (const int rank : op.ranks) {
        if (const int index = part_.index_of_rank[static_cast<std::size_t>(rank)]; index >= 0)
          ranks_.back().push_back(index);
      }
    }
  }

  void take_meetings(const Cluster& cluster) {
    MovingTimes times(cluster, part_);
    for (std::size_t op = 0; op < works_.size(); ++op) {
      std::vector<Meeting>& meetings = meetings_.emplace_back();
      const std::vector<OpWork::Call>& calls = works_[op].calls;
      if (calls.empty()) continue;
      const GroupMembers& group =
          groups_.try_emplace(program_.ops[op].group, calls, part_.index_of_rank, part_.numbers.size()).first->second;
      std::size_t seats = 0;
      for (std::size_t call = 0; call < calls.size(); ++call) {
        const std::vector<int>& members = group.members(static_cast<int>(call));
        seats += members.size();
        if (members.empty()) continue;
        meetings.push_back({calls[call].loads.start.value, &members, times.of(calls[call].loads, members)});
      }
      const auto sits = [&](int index) { return group.seat(index).call >= 0; };
      everyone_meets_ = everyone_meets_ && seats == ranks_[op].size() && std::ranges::all_of(ranks_[op], sits);
    }
  }

  // An order in which each operation follows those that it waits for in its iteration: the one before it on its stream,
  // too. Shorter than the list where they wait for each other in a circle.
  void take_order() {
    std::vector<std::vector<int>> next(program_.ops.size());
    std::vector<int> awaited(program_.ops.size(), 0), last(program_.streams.size(), -1);
    const auto add = [&](int before, int after) {
      next[static_cast<std::size_t>(before)].push_back(after);
      ++awaited[static_cast<std::size_t>(after)];
    };
    for (const Op& op : program_.ops) {
      int& on_stream = last[static_cast<std::size_t>(op.stream)];
      if (on_stream >= 0) add(on_stream, op.id);
      on_stream = op.id;
      for (const int before : op.after) add(before, op.id);
    }
    for (const Op& op : program_.ops) {
      if (awaited[static_cast<std::size_t>(op.id)] == 0) order_.push_back(op.id);
    }
    for (std::size_t at = 0; at < order_.size(); ++at) {
      for (const int after : next[static_cast<std::size_t>(order_[at])]) {
        if (--awaited[static_cast<std::size_t>(after)] == 0) order_.push_back(after);
      }
    }
  }

  // An operation that a rank takes no part in never ends there, and nobody waits for it: its time stays 0.
  void find_ready(const Op& op, double held) {
    const std::vector<double>& free = free_[static_cast<std::size_t>(op.stream)];
    for (std::size_t index = 0; index < ready_.size(); ++index) ready_[index] = std::max(free[index], held);
    const auto wait_for = [&](const std::vector<double>& ended) {
      for (std::size_t index = 0; index < ready_.size(); ++index) ready_[index] = std::max(ready_[index], ended[index]);
    };
    for (const int before : op.after) wait_for(ended_[static_cast<std::size_t>(before)]);
    for (const int before : op.after_previous) wait_for(before_[static_cast<std::size_t>(before)]);
  }

  void compute(std::size_t op) {
    for (const int index : ranks_[op]) {
      const auto at = static_cast<std::size_t>(index);
      const double seconds = works_[op].seconds[static_cast<std::size_t>(part_.numbers[at])];
      ended_[op][at] = ready_[at] + std::max(seconds, 0.0);
    }
  }

  void meet(std::size_t op) {
    for (const Meeting& meeting : meetings_[op]) {
      double last = 0;
      for (const int index : *meeting.members) last = std::max(last, ready_[static_cast<std::size_t>(index)]);
      const double moves = last + meeting.start;
      for (std::size_t member = 0; member < meeting.moving.size(); ++member)
        ended_[op][static_cast<std::size_t>((*meeting.members)[member])] = moves + meeting.moving[member];
    }
  }

  const Program& program_;
  const std::vector<OpWork>& works_;
  const SimulatedPart part_;
  std::vector<std::vector<int>> ranks_;  // [op] simulated ranks that take part
  std::map<std::string, GroupMembers> groups_;
  std::vector<std::vector<Meeting>> meetings_;  // [op] of collectives
  bool everyone_meets_ = true;
  std::vector<int> order_;
  std::vector<std::vector<double>> ended_, before_;  // [op][simulated rank] in this iteration, and in the one before
  std::vector<std::vector<double>> free_;            // [stream][simulated rank] end of the last operation
  std::vector<double> ready_;                        // [simulated rank] of the operation that is looked at
};

}  // namespace

std::optional<Seconds> uncontended_time(const Program& program, const Cluster& cluster,
                                        const std::vector<OpWork>& works, const NodeClasses& classes,
                                        const EngineOptions& options) {
  if (slows_down(cluster)) return std::nullopt;
  UncontendedRun run(program, cluster, works, classes);
  if (!run.proceeds()) return std::nullopt;
  const int most = std::max(options.iterations, options.most_iterations);
  std::vector<double> ends;
  for (double last = -1;;) {
    const auto iteration = static_cast<int>(ends.size());
    // As many iterations as the options say may begin at once; of further ones a few before the last one has ended.
    const int waits_for = std::max(options.iterations - 1, iteration - Execution::kAhead);
    const bool waits = iteration >= options.iterations && iteration > 0;
    ends.push_back(run.run(waits ? ends[static_cast<std::size_t>(waits_for)] : 0));
    if (!(ends.back() <= kMostSimulatedSeconds)) return std::nullopt;
    const double seconds = ends.back() - (iteration > 0 ? ends[static_cast<std::size_t>(iteration) - 1] : 0);
    const bool steady = last >= 0 && std::abs(seconds - last) <= options.steady * seconds;
    if (steady || iteration + 1 >= most) return Seconds{seconds};
    last = seconds;
  }
}

}  // namespace shardsim
