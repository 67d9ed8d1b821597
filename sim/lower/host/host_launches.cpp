#include "sim/lower/host/host_launches.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/error.h"

namespace shardsim {
namespace {

class HostLaunches {
 public:
  HostLaunches(Program program, const HostWork& work)
      : program_(std::move(program)),
        work_(work),
        software_(*work.software),
        times_(host_times(program_, work)),
        old_(std::move(program_.ops)),
        new_id_(old_.size(), -1) {
    program_.ops.clear();
  }

  Program take() {
    refuse_waits_in_graph();
    behind_ = software_.fixed + static_cast<double>(program_.batch_per_rank) * software_.per_sample;
    for (Op& op : old_) {
      if (blocks(op)) {
        add_wait(op);
      } else {
        add_launched(op);
      }
    }
    flush();
    hold_back();
    for (Op& op : program_.ops)
      if (op.role != OpRole::launch) renumber(op.after_previous);
    if (first_ < 0) return std::move(program_);
    std::vector<int>& held_by = program_.ops[at(first_)].after_previous;
    held_by.insert(held_by.end(), ahead_of_.begin(), ahead_of_.end());
    return std::move(program_);
  }

 private:
  static std::size_t at(int id) { return static_cast<std::size_t>(id); }
  bool blocks(const Op& op) const { return op.role == OpRole::wait_for_splits && software_.blocking_waits; }

  void refuse_waits_in_graph() const {
    if (software_.graph != Software::Graph::iteration) return;
    for (const Op& op : old_) {
      if (op.role != OpRole::wait_for_splits) continue;
      throw input_error(software_.place,
                        fmt::format("software {} runs the whole iteration as one CUDA graph, but the host has to wait "
                                    "inside it, in operation {} '{}'",
                                    software_.name, op.id, op.name),
                        "Take another software, 'graph: dense', or an input_exchange without splits (ids, none)");
    }
  }

  // True when the operation is captured in a graph.
  bool is_captured(const Op& op) const {
    if (software_.graph == Software::Graph::iteration) return true;
    return software_.graph == Software::Graph::dense && is_dense_part(op.role);
  }

  // A stretch of captured operations is launched once, on all ranks.
  Seconds graph_time(int first) const {
    double nodes = 0;
    for (std::size_t id = at(first); id < old_.size() && is_captured(old_[id]); ++id)
      nodes += kernels_of(old_[id]) / old_[id].every;
    return software_.graph_launch + nodes * software_.graph_node;
  }

  void add_launched(Op& op) {
    const bool captured = is_captured(op);
    if (!captured && op.every > 1) {
      launch_rare(op);
    } else if (!captured) {
      launch(op.ranks, times_[at(op.id)].before);
      behind_ = times_[at(op.id)].behind;
      ranks_ = op.ranks;
    } else if (!in_graph_) {
      launch({}, graph_time(op.id));
      captured_by_ = since_all_;
    }
    in_graph_ = captured;
    append(op, captured ? captured_by_ : launched_by_);
  }

  // An operation that runs in one of several iterations has launches of its own, in that iteration alone.
  void launch_rare(const Op& op) {
    flush();
    const HostTime& time = times_[at(op.id)];
    const int id = add_launch(op.ranks, time.before + time.behind, op.every);
    launched_by_ = id >= 0 ? std::vector<int>{id} : since_all_;
  }

  // The host that waits launches nothing until it is over.
  void add_wait(Op& op) {
    flush();
    in_graph_ = false;
    op.stream = stream();
    append(op, {});
    if (first_ < 0) first_ = program_.ops.back().id;
    since_all_ = {program_.ops.back().id};
  }

  // Inside a node benchmarks measure hosts that launch; across nodes what they measure grows with the peers otherwise.
  std::int64_t launch_in_start(const Op& op) const {
    if (op.op_class != OpClass::all_to_all) return 0;
    for (const std::vector<int>& set : program_.groups.at(op.group)) {
      for (const int rank : set) {
        if (rank / program_.ranks_per_node != set.front() / program_.ranks_per_node) return 0;
      }
    }
    return std::llround(software_.launch_in_start.value * 1e9);
  }

  void append(Op& op, const std::vector<int>& by) {
    op.launch_ns = launch_in_start(op);
    const int id = static_cast<int>(program_.ops.size());
    new_id_[at(op.id)] = id;
    op.id = id;
    renumber(op.after);
    op.after.insert(op.after.end(), by.begin(), by.end());
    std::ranges::sort(op.after);
    op.after.erase(std::unique(op.after.begin(), op.after.end()), op.after.end());
    program_.ops.push_back(std::move(op));
  }

  // The rest of the host's work for the operation before goes in front of its next work; where other ranks take part,
  // it is a launch by itself.
  void launch(const std::vector<int>& ranks, Seconds time) {
    if (behind_.value > 0 && ranks != ranks_) flush();
    const int id = add_launch(ranks, behind_ + time);
    behind_ = {};
    launched_by_ = id >= 0 ? std::vector<int>{id} : since_all_;
  }

  void flush() {
    add_launch(ranks_, behind_);
    behind_ = {};
  }

  // -1: it takes no time. The stream keeps launches in their order.
  int add_launch(const std::vector<int>& ranks, Seconds time, int every = 1) {
    Op op;
    op.fixed_ns = std::llround(work_.time_factor * time.value * 1e9);
    if (op.fixed_ns <= 0) return -1;
    op.id = static_cast<int>(program_.ops.size());
    op.name = "launch";
    op.op_class = OpClass::host;
    op.role = OpRole::launch;
    op.ranks = ranks;
    op.every = every;
    op.stream = stream();
    if (ranks.empty()) since_all_.clear();
    if (ranks.empty() && first_ < 0) first_ = op.id;
    since_all_.push_back(op.id);
    program_.ops.push_back(op);
    return op.id;
  }

  int stream() {
    if (stream_ < 0) {
      stream_ = static_cast<int>(program_.streams.size());
      program_.streams.emplace_back(kLaunchStream);
    }
    return stream_;
  }

  // The queue of launches is not endless: an iteration is launched once the GPU has begun the one before; by a host
  // that does not run ahead, once all of that is over.
  void hold_back() {
    if (!software_.runs_ahead) {
      ahead_of_ = last_ones();
      return;
    }
    const auto begins = [](const Op& op) {
      return op.stream == 0 && op.ranks.empty() && !op.is_collective() && occupies_gpu(op.role);
    };
    const auto found = std::ranges::find_if(program_.ops, begins);
    if (found != program_.ops.end()) ahead_of_ = {found->id};
  }

  // Returns the operations on the trained batch that nothing else of the iteration waits for.
  std::vector<int> last_ones() const {
    std::vector<bool> is_waited_for(program_.ops.size(), false);
    for (const Op& op : program_.ops)
      for (const int id : op.after) is_waited_for[at(id)] = true;
    std::vector<int> last;
    for (const Op& op : program_.ops)
      if (!is_waited_for[at(op.id)] && op.role != OpRole::launch && op.batches_ahead == 0) last.push_back(op.id);
    return last;
  }

  void renumber(std::vector<int>& ids) const {
    for (int& id : ids) id = new_id_[at(id)];
  }

  Program program_;
  const HostWork& work_;
  const Software& software_;
  const std::vector<HostTime> times_;  // [old id]
  std::vector<Op> old_;
  std::vector<int> new_id_;  // [old id]

  Seconds behind_;                              // host time that is still to come for the last operation
  std::vector<int> ranks_;                      // on which
  std::vector<int> since_all_;                  // launches and waits from the last one of all ranks on
  std::vector<int> launched_by_, captured_by_;  // what the operation, or the graph that it is in, was launched by
  bool in_graph_ = false;
  int stream_ = -1, first_ = -1;
  std::vector<int> ahead_of_;  // of the iteration before: what the first launch waits for
};

}  // namespace

Program with_host(Program program, const HostWork& work) {
  return HostLaunches(std::move(program), work).take();
}

}  // namespace shardsim
