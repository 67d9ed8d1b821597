#include "sim/engine/critical_path.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <tuple>
#include <vector>

#include "sim/engine/op_slack.h"
#include "sim/engine/past_spans.h"

namespace shardsim {
namespace {

struct GpuSpan {
  double start = 0, end = 0;
  int op = 0;
  bool computes = false;
};

// The operations of some ranks that are not their hosts', as they ran.
class GpuSpans {
 public:
  // The ranks are those that have an entry in `of_ranks`, by number.
  GpuSpans(const PastRun& run, const PastSpans& spans, std::map<int, std::vector<std::vector<GpuSpan>>> of_ranks)
      : streams_(std::move(of_ranks)) {
    for (int iteration = 0; iteration < static_cast<int>(run.iterations.size()); ++iteration) {
      for (int rank = 0; rank < static_cast<int>(spans.ranks()); ++rank) {
        if (const auto own = streams_.find(spans.rank_number(rank)); own != streams_.end())
          add(run.program, spans, {rank, 0, iteration}, own->second);
      }
    }
    for (auto& [rank, streams] : streams_) {
      for (std::vector<GpuSpan>& stream : streams) std::ranges::sort(stream, {}, &GpuSpan::start);
    }
  }

  // Adds the seconds of [from, until) to those of the operations that run then.
  void charge(int rank, double from, double until, std::vector<double>& seconds) const {
    const std::vector<GpuSpan> running = running_in(rank, from, until);
    std::vector<double> edges{from, until};
    for (const GpuSpan& span : running) edges.insert(edges.end(), {span.start, span.end});
    std::ranges::sort(edges);
    for (std::size_t i = 1; i < edges.size(); ++i) {
      const double begin = edges[i - 1], end = edges[i];
      if (begin < from || end > until || end <= begin) continue;
      const auto busy = [&](const GpuSpan& span) { return span.start <= begin && span.end >= end; };
      if (const auto first = std::ranges::find_if(running, busy); first != running.end())
        seconds[static_cast<std::size_t>(first->op)] += end - begin;
    }
  }

 private:
  static void add(const Program& program, const PastSpans& spans, PastSpans::Node node,
                  std::vector<std::vector<GpuSpan>>& streams) {
    streams.resize(program.streams.size());
    for (const Op& op : program.ops) {
      node.op = op.id;
      const PastSpans::Span* const span = spans.find(node);
      if (span == nullptr || op.op_class == OpClass::host) continue;
      const PastSpans::Call call = spans.call_of(node.rank, op.id);
      const double start = call.number < 0 ? span->start : spans.begin(call, op.id, node.iteration);
      streams[static_cast<std::size_t>(op.stream)].push_back({start, span->end, op.id, call.number < 0});
    }
  }

  // Those that compute first. Spans of one stream follow each other.
  std::vector<GpuSpan> running_in(int rank, double from, double until) const {
    std::vector<GpuSpan> running;
    for (const std::vector<GpuSpan>& stream : streams_.at(rank)) {
      auto span = std::ranges::partition_point(stream, [&](const GpuSpan& each) { return each.end <= from; });
      for (; span != stream.end() && span->start < until; ++span) running.push_back(*span);
    }
    std::stable_partition(running.begin(), running.end(), [](const GpuSpan& span) { return span.computes; });
    return running;
  }

  std::map<int, std::vector<std::vector<GpuSpan>>> streams_;  // by rank: [stream], by time
};

// [op] What GPUs have to do while a path runs over their hosts, seconds per iteration: a host that works ahead of its
// GPU sets when the iteration ends, but the GPU does not wait for it. Where several operations run at once, the time is
// that of one that computes, or else of a collective that has begun. Empty where the path runs over no host.
std::vector<double> beneath_hosts(const PastRun& run, const PastSpans& spans, const CriticalPath& path) {
  const auto of_host = [&](const PathStep& step) {
    return step.op >= 0 && run.program.op(step.op).op_class == OpClass::host;
  };
  std::map<int, std::vector<std::vector<GpuSpan>>> ranks;
  for (const PathStep& step : path.steps)
    if (of_host(step)) ranks.try_emplace(step.rank);
  if (ranks.empty()) return {};
  const GpuSpans gpus(run, spans, std::move(ranks));
  std::vector<double> seconds(run.program.ops.size(), 0.0);
  for (const PathStep& step : path.steps)
    if (of_host(step)) gpus.charge(step.rank, step.start, step.start + step.seconds * path.turns, seconds);
  for (double& each : seconds) each /= path.turns;
  return seconds;
}

using PastNode = PastSpans::Node;
using PastSpan = PastSpans::Span;

constexpr double kSameTime = 1e-13;  // of an iteration: ends that differ by rounding alone
constexpr double kSameTurn = 1e-5;   // of an iteration: a turn of the path that takes as long as it
constexpr double kNoRest = 1e-11;    // of an iteration: what rounding leaves
constexpr double kSlowed = 1e-6;     // of a transfer or a computation: what rounding adds to it
constexpr std::size_t kMostSteps = 10'000'000;

// Walks from the end of the last iteration back to the start of the run, or of what is known of it.
class Walk {
 public:
  explicit Walk(const PastRun& run)
      : run_(run), spans_(run), last_(static_cast<int>(run.iterations.size()) - 1), same_(kSameTime * length()) {}

  CriticalPath path() {
    CriticalPath path = bare_path();
    if (path.steps.empty()) return path;
    for (PathStep& step : path.steps) find_beside(step);
    path.slack = op_slack(run_, spans_, path);
    return path;
  }

  CriticalPath bare_path() {
    CriticalPath path;
    path.seconds = length();
    std::optional<PastNode> node = last_to_end(last_);
    if (!node) return path;
    now_ = kept().ended;
    // Only in a steady run what is before the iteration may say more of it.
    while (node && steps_.size() < kMostSteps && (run_.steady || now_ > kept().began)) node = step_back(*node);
    path.repeats = run_.steady && take_turn(path);
    if (!path.repeats) take_window(path);
    std::ranges::reverse(path.steps);
    for (PathStep& step : path.steps) step.iteration -= last_;
    path.beneath = beneath_hosts(run_, spans_, path);
    return path;
  }

 private:
  const Execution::Kept& kept() const { return *run_.iterations.back(); }
  double length() const { return kept().ended - kept().began; }

  // Returns the operation that ends the iteration; of several that end together, the first operation of the lowest
  // rank.
  std::optional<PastNode> last_to_end(int iteration) const {
    if (iteration < 0) return std::nullopt;
    const Execution::Kept& of = *run_.iterations[static_cast<std::size_t>(iteration)];
    for (int rank = 0; rank < static_cast<int>(spans_.ranks()); ++rank) {
      for (int op = 0; op < static_cast<int>(spans_.ops()); ++op) {
        const PastSpan* const span = spans_.find({rank, op, iteration});
        if (span != nullptr && span->end >= of.ended - same_) return PastNode{rank, op, iteration};
      }
    }
    return std::nullopt;
  }

  // Adds what `node` did until now, and returns what made it begin; nothing where that is not known.
  std::optional<PastNode> step_back(const PastNode& node) {
    visits_.push_back({node, now_, steps_.size()});
    return spans_.work(node).is_collective() ? leave_collective(node) : leave_compute(node);
  }

  void add(PathStep step, double start) {
    start = std::min(start, now_);
    step.start = start;
    step.seconds = now_ - start;
    now_ = start;
    steps_.push_back(step);
  }

  std::optional<PastNode> leave_compute(const PastNode& node) {
    const PastSpan& span = *spans_.find(node);
    const double alone = spans_.work(node).seconds[static_cast<std::size_t>(span.rank)];
    const double slowed = span.end - span.start - alone;
    PathStep step{PathStep::Kind::work, node.op, span.rank, node.iteration};
    if (slowed > kSlowed * alone) step.slowed = slowed;
    add(step, span.start);
    return cause_of(node);
  }

  // Back over the transfer and the start to the member that arrived last; the rank itself where it did.
  std::optional<PastNode> leave_collective(const PastNode& node) {
    const PastSpan& span = *spans_.find(node);
    const PastSpans::Call call = spans_.call_of(node.rank, node.op);
    const CollectiveLoads& loads = spans_.work(node).calls[static_cast<std::size_t>(call.number)].loads;
    const double begin = spans_.begin(call, node.op, node.iteration);
    PathStep transfer{PathStep::Kind::transfer, node.op, span.rank, node.iteration};
    transfer.link = span.link;
    transfer.drawn = drawn_share(loads, span.link);
    const double moved = begin + loads.start.value, slowed = span.end - moved - alone_seconds(loads, span.link);
    if (slowed > kSlowed * (span.end - moved)) transfer.slowed = slowed;
    if (span.end > moved) add(transfer, moved);
    add({PathStep::Kind::start, node.op, span.rank, node.iteration}, begin);
    const auto arrived = [&](int rank) {
      const PastSpan* const member = spans_.find({rank, node.op, node.iteration});
      return member != nullptr && member->start >= begin - same_;
    };
    if (arrived(node.rank)) return cause_of(node);
    const auto last = std::ranges::find_if(*call.members, arrived);
    return cause_of({*last, node.op, node.iteration});
  }

  // Null where nothing moves on that link.
  static const LinkLoad* load_on(const CollectiveLoads& loads, LinkId link) {
    const auto load = std::ranges::lower_bound(loads.loads, link, {}, &LinkLoad::link);
    return link < 0 || load == loads.loads.end() || load->link != link ? nullptr : &*load;
  }

  double drawn_share(const CollectiveLoads& loads, LinkId link) const {
    const LinkLoad* const load = load_on(loads, link);
    if (load == nullptr || load->cap.bytes_per_second <= 0) return 1;
    const double rate = run_.cluster.links()[static_cast<std::size_t>(link)].rate.bytes_per_second;
    return std::min(1.0, load->cap.bytes_per_second / rate);
  }

  double alone_seconds(const CollectiveLoads& loads, LinkId link) const {
    const LinkLoad* const load = load_on(loads, link);
    if (load == nullptr) return 0;
    const double rate = run_.cluster.links()[static_cast<std::size_t>(link)].rate.bytes_per_second;
    return load->occupancy / (drawn_share(loads, link) * rate);
  }

  // Returns the last to end of all operations that the node waited for. Where none of them ended now, its rank had run
  // ahead as far as it may, and the end of an iteration let it go on.
  std::optional<PastNode> cause_of(const PastNode& node) {
    std::optional<PastNode> latest;
    double end = -std::numeric_limits<double>::infinity();
    for (const PastNode& each : spans_.awaited(node)) {
      const double ended = spans_.find(each)->end;
      if (ended <= end + same_) continue;
      latest = each;
      end = ended;
    }
    if (!latest || end >= now_ - same_) return latest;
    for (int iteration = 0; iteration < node.iteration; ++iteration) {
      if (std::abs(run_.iterations[static_cast<std::size_t>(iteration)]->ended - now_) <= same_)
        return last_to_end(iteration);
    }
    add({PathStep::Kind::held, -1, spans_.rank_number(node.rank), node.iteration}, end);
    return latest;
  }

  // From the end of the iteration back to that of the one before it.
  void take_window(CriticalPath& path) const {
    const double began = kept().began;
    for (PathStep step : steps_) {
      const double end = step.start + step.seconds;
      if (end <= began) break;
      if (step.start < began) {
        step.slowed *= (end - began) / step.seconds;
        step.start = began;
        step.seconds = end - began;
      }
      path.steps.push_back(step);
    }
  }

  // The way between two visits of one operation, in iterations that are neighbours or nearly so; the last such way.
  bool take_turn(CriticalPath& path) const {
    std::map<std::pair<int, int>, std::size_t> seen;
    std::size_t from = 0, to = 0;
    for (std::size_t i = 0; i < visits_.size() && to == 0; ++i) {
      const auto [entry, added] = seen.try_emplace({visits_[i].node.rank, visits_[i].node.op}, i);
      if (added) continue;
      from = entry->second;
      to = i;
    }
    if (to == 0) return false;
    const Visit &later = visits_[from], &earlier = visits_[to];
    const int turns = later.node.iteration - earlier.node.iteration;
    const double seconds = (later.when - earlier.when) / turns;
    if (std::abs(seconds - length()) > kSameTurn * length()) return false;
    path.turns = turns;
    for (std::size_t i = later.steps; i < earlier.steps; ++i) {
      path.steps.push_back(steps_[i]);
      path.steps.back().seconds /= turns;
      path.steps.back().slowed /= turns;
    }
    if (const double rest = length() - seconds; std::abs(rest) > kNoRest * length()) {
      PathStep step{PathStep::Kind::rest, -1, -1, later.node.iteration};
      step.start = path.steps.back().start;
      step.seconds = rest;
      path.steps.push_back(step);
    }
    return true;
  }

  // Names what a slowed transfer shares its link with: the other collective whose bytes are on it longest meanwhile.
  void find_beside(PathStep& step) const {
    if (step.slowed <= 0 || step.link < 0) return;
    double longest = 0;
    for (int op = 0; op < static_cast<int>(spans_.ops()); ++op) {
      const double seconds = seconds_beside(step, op);
      if (seconds <= longest) continue;
      longest = seconds;
      step.beside = op;
    }
  }

  double seconds_beside(const PathStep& step, int op) const {
    const int node = run_.cluster.links()[static_cast<std::size_t>(step.link)].node;
    const double end = step.start + step.seconds;
    double longest = 0;
    for (int rank = 0; rank < static_cast<int>(spans_.ranks()); ++rank) {
      const int number = spans_.rank_number(rank);
      if (node >= 0 && run_.cluster.node_of(number) != node) continue;
      const PastSpans::Call call = spans_.call_of(rank, op);
      if (call.number < 0) continue;
      const int own = last_ + step.iteration;
      for (int iteration = std::max(own - 1, 0); iteration <= std::min(own + 1, last_); ++iteration) {
        const PastSpan* const span = spans_.find({rank, op, iteration});
        if (span == nullptr || (op == step.op && (iteration != own || is_member(call, step.rank)))) continue;
        const CollectiveLoads& loads =
            spans_.work({rank, op, iteration}).calls[static_cast<std::size_t>(call.number)].loads;
        if (alone_seconds(loads, step.link) <= 0) continue;
        const double moved = spans_.begin(call, op, iteration) + loads.start.value;
        longest = std::max(longest, std::min(end, span->end) - std::max(step.start, moved));
      }
    }
    return longest;
  }

  bool is_member(const PastSpans::Call& call, int number) const {
    return std::ranges::any_of(*call.members, [&](int rank) { return spans_.rank_number(rank) == number; });
  }

  struct Visit {
    PastNode node;
    double when = 0;        // it ended, as far as the path goes
    std::size_t steps = 0;  // before it
  };

  const PastRun& run_;
  const PastSpans spans_;
  const int last_;
  const double same_;
  double now_ = 0;
  std::vector<PathStep> steps_;  // the latest first
  std::vector<Visit> visits_;    // as well
};

}  // namespace

CriticalPath critical_path(const PastRun& run) {
  return Walk(run).path();
}

CriticalPath bare_critical_path(const PastRun& run) {
  return Walk(run).bare_path();
}

}  // namespace shardsim
