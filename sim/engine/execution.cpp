#include "sim/engine/execution.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

namespace shardsim {
namespace {

constexpr std::size_t kRecent = 16;  // iterations whose spans are at hand when the owner stops
// Iterations that a rank which waits for nobody may run ahead of the others, where there is no last iteration.
constexpr int kAhead = 4;

}  // namespace

Execution::Execution(const Program& program, const Cluster& cluster, const std::vector<OpWork>& works,
                     const NodeClasses& classes, const EngineOptions& options, Until until)
    : program_(program),
      cluster_(cluster),
      works_(works),
      classes_(classes),
      options_(options),
      until_(until),
      index_of_rank_(cluster.world_size(), -1),
      ranks_on_link_(cluster.links().size()),
      computing_on_link_(cluster.links().size(), 0) {
  const int most = until == Until::steady ? options.iterations : kAhead;
  for (int rank = 0; rank < cluster.world_size(); ++rank) {
    if (!simulated(rank)) continue;
    index_of_rank_[rank] = static_cast<int>(ranks_.size());
    for (LinkId link : cluster.links_of(rank)) ranks_on_link_[link].push_back(index_of_rank_[rank]);
    ranks_.push_back({rank, std::make_unique<RankStreams>(program, rank, most), {}, 0});
  }
  declare_routes();
}

void Execution::run(NetworkSession& session) {
  begin(session);
  while (!done_) {
    for (TransferId transfer : session.advance({next()})) transfer_ended(transfer);
    fire_due();
  }
}

void Execution::begin(NetworkSession& session) {
  session_ = &session;
  last_end_ = now();
  for (std::size_t index = 0; index < ranks_.size(); ++index) advance_rank(static_cast<int>(index));
}

double Execution::next() const {
  if (!timers_.empty()) return timers_.top().when;
  if (moving_ > 0) return std::numeric_limits<double>::infinity();
  throw run_error("the program cannot proceed: operations wait for each other", "Check its dependencies");
}

void Execution::fire_due() {
  const std::size_t ended = ends_.size();
  const auto enough = [&] { return done_ || (until_ == Until::stopped && ends_.size() > ended); };
  while (!enough() && !timers_.empty() && timers_.top().when <= now()) {
    const Timer timer = timers_.top();
    timers_.pop();
    fire(timer);
  }
}

bool Execution::simulated(const Link& link) const {
  if (link.node >= 0) return classes_.is_representative(link.node);
  for (int node = 0; node < cluster_.nodes(); ++node) {
    if (cluster_.leaf_of(node) == link.leaf && classes_.is_representative(node)) return true;
  }
  return false;
}

int Execution::stand_in(int rank) const {
  return classes_.representative[cluster_.node_of(rank)] * cluster_.ranks_per_node() + cluster_.gpu_of(rank);
}

// One route per link and cap in use.
void Execution::declare_routes() {
  std::map<std::pair<LinkId, double>, int> known;
  std::vector<char> in_use(cluster_.links().size());
  for (std::size_t link = 0; link < in_use.size(); ++link) in_use[link] = simulated(cluster_.links()[link]);
  for (const OpWork& work : works_) {
    auto& of_calls = route_of_load_.emplace_back();
    for (const OpWork::Call& call : work.calls) {
      auto& of_loads = of_calls.emplace_back();
      for (const LinkLoad& load : call.loads.loads) {
        if (!in_use[load.link] || load.occupancy <= 0) {
          of_loads.push_back(-1);
          continue;
        }
        const auto [entry, added] = known.try_emplace({load.link, load.cap.bytes_per_second}, routes_.size());
        if (added) routes_.push_back({{load.link}, load.cap});
        of_loads.push_back(entry->second);
      }
    }
  }
}

void Execution::advance_rank(int index) {
  for (bool started = true; started && !done_;) {
    started = false;
    for (int stream = 0; stream < ranks_[index].streams->streams(); ++stream) {
      const auto next = ranks_[index].streams->take(stream);
      if (!next) continue;
      started = true;
      if (works_[next->op].is_collective()) {
        arrive(index, *next);
      } else {
        start_compute(index, *next);
      }
    }
  }
}

void Execution::set_timer(Timer timer) {
  timer.sequence = sequence_++;
  timers_.push(timer);
}

void Execution::start_compute(int index, RankStreams::Next next) {
  Rank& rank = ranks_[index];
  Computing computing;
  computing.op = next.op;
  computing.iteration = next.iteration;
  computing.started = computing.updated = now();
  computing.left = works_[next.op].seconds[rank.number];
  const auto entry = rank.computing.insert_or_assign(next.op, computing).first;
  computing_count(index, +1);
  update_computing(rank, entry->second);
}

void Execution::update_computing(Rank& rank, Computing& computing) {
  computing.left -= (now() - computing.updated) * computing.speed;
  computing.updated = now();
  computing.speed = rank.collectives > 0 ? 1.0 - cluster_.spec().gpu.overlap_slowdown : 1.0;
  Timer timer;
  timer.when = now() + std::max(computing.left, 0.0) / computing.speed;
  timer.rank = index_of_rank_[rank.number];
  timer.op = computing.op;
  timer.version = ++computing.version;
  set_timer(timer);
}

// A collective started (+1) or ended (-1) on this rank.
void Execution::collective_count(int index, int change) {
  Rank& rank = ranks_[index];
  const bool was_running = rank.collectives > 0;
  rank.collectives += change;
  if (cluster_.spec().gpu.overlap_slowdown <= 0 || was_running == (rank.collectives > 0)) return;
  for (auto& [op, computing] : rank.computing) update_computing(rank, computing);
}

// A compute operation started (+1) or ended (-1) on this rank: its links slow down or recover.
void Execution::computing_count(int index, int change) {
  const double slowdown = cluster_.spec().gpu.overlap_slowdown;
  if (slowdown <= 0) return;
  for (LinkId link : cluster_.links_of(ranks_[index].number)) {
    if (cluster_.links()[link].node < 0) continue;
    computing_on_link_[link] += change;
    session_->set_rate_factor(link, computing_on_link_[link] > 0 ? 1.0 - slowdown : 1.0);
  }
}

void Execution::arrive(int index, RankStreams::Next next) {
  const int number = ranks_[index].number;
  for (std::size_t call = 0; call < works_[next.op].calls.size(); ++call) {
    const std::vector<int>& members = works_[next.op].calls[call].ranks;
    if (std::find(members.begin(), members.end(), number) == members.end()) continue;
    const auto key = std::make_tuple(next.op, static_cast<int>(call), next.iteration);
    const auto [entry, added] = current_.try_emplace(key, running_.size());
    if (added) {
      Running fresh;
      fresh.op = next.op;
      fresh.call = static_cast<int>(call);
      fresh.iteration = next.iteration;
      std::set<int> needed;
      for (int member : members) needed.insert(stand_in(member));
      fresh.missing = static_cast<int>(needed.size());
      running_.push_back(std::move(fresh));
    }
    Running& running = running_[entry->second];
    running.arrived[index] = now();
    collective_count(index, +1);
    if (--running.missing > 0) return;
    Timer timer;
    timer.when = now() + works_[next.op].calls[call].loads.start.value;
    timer.running = entry->second;
    set_timer(timer);
    return;
  }
}

// The start phase is over: all loads of the call move at once.
void Execution::move_bytes(int id) {
  const OpWork::Call& call = works_[running_[id].op].calls[running_[id].call];
  const std::vector<int>& routes = route_of_load_[running_[id].op][running_[id].call];
  for (std::size_t load = 0; load < routes.size(); ++load) {
    if (routes[load] < 0) continue;
    const TransferId transfer = session_->start(routes[load], call.loads.loads[load].occupancy);
    transfers_.resize(std::max<std::size_t>(transfers_.size(), transfer + 1));
    transfers_[transfer] = {id, call.loads.loads[load].link};
    ++running_[id].transfers;
    ++moving_;
    for (int rank : ranks_on_link_[call.loads.loads[load].link]) {
      if (running_[id].arrived.contains(rank)) ++running_[id].pending[rank];
    }
  }
  end_where_done(id);
}

void Execution::transfer_ended(TransferId transfer) {
  const Transfer ended = transfers_[transfer];
  --moving_;
  Running& running = running_[ended.running];
  --running.transfers;
  for (int rank : ranks_on_link_[ended.link]) {
    const auto pending = running.pending.find(rank);
    if (pending != running.pending.end()) --pending->second;
  }
  if (running.transfers == 0) return end_where_done(ended.running);
  for (int rank : ranks_on_link_[ended.link]) end_collective_if_done(running_[ended.running], rank);
}

void Execution::end_where_done(int id) {
  std::vector<int> members;
  for (const auto& [rank, when] : running_[id].arrived) members.push_back(rank);
  for (int rank : members) end_collective_if_done(running_[id], rank);
}

void Execution::end_collective_if_done(Running& running, int index) {
  const auto arrived = running.arrived.find(index);
  if (arrived == running.arrived.end()) return;
  const auto pending = running.pending.find(index);
  const bool waits = pending != running.pending.end() && pending->second > 0;
  const bool synchronising = works_[running.op].calls[running.call].loads.synchronising;
  if (waits || (synchronising && running.transfers > 0)) return;
  const double started = arrived->second;
  const int op = running.op;
  const int iteration = running.iteration;
  running.arrived.erase(arrived);
  if (running.arrived.empty()) current_.erase({op, running.call, iteration});
  collective_count(index, -1);
  end_op(index, op, iteration, started);  // may start other collectives: `running` may move
}

void Execution::fire(const Timer& timer) {
  if (timer.running >= 0) return move_bytes(timer.running);
  Rank& rank = ranks_[timer.rank];
  const auto computing = rank.computing.find(timer.op);
  if (computing == rank.computing.end() || computing->second.version != timer.version) return;
  const Computing ended = computing->second;
  rank.computing.erase(computing);
  computing_count(timer.rank, -1);
  end_op(timer.rank, ended.op, ended.iteration, ended.started);
}

void Execution::end_op(int index, int op, int iteration, double started) {
  Rank& rank = ranks_[index];
  spans_[iteration].push_back({started, now(), rank.number, program_.ops[op].stream, op});
  rank.streams->end(op);
  while (!done_ && std::all_of(ranks_.begin(), ranks_.end(),
                               [&](const Rank& each) { return each.streams->finished(iteration_); })) {
    iteration_ended();
  }
  if (!done_) advance_rank(index);
}

// Another iteration may begin, also on ranks that were too far ahead.
void Execution::allow_one_more() {
  for (Rank& rank : ranks_) rank.streams->allow(iteration_ + kAhead);
  for (std::size_t index = 0; index < ranks_.size(); ++index) advance_rank(static_cast<int>(index));
}

// The iteration that ends now, `seconds` after the one before it.
Execution::Kept Execution::take_iteration(double seconds) {
  Kept kept;
  kept.spans = std::move(spans_[iteration_]);
  kept.origin = last_end_;
  for (const RawSpan& span : kept.spans) kept.origin = std::min(kept.origin, span.start);
  kept.seconds = seconds;
  kept.iterations_run = iteration_ + 1;
  return kept;
}

void Execution::iteration_ended() {
  const double seconds = now() - last_end_;
  const bool steady = last_seconds_ >= 0 && std::abs(seconds - last_seconds_) <= options_.steady * seconds;
  if (until_ == Until::stopped) {
    recent_.push_back(take_iteration(seconds));
    if (recent_.size() > kRecent) recent_.pop_front();
  } else if (steady || iteration_ + 1 == options_.iterations) {
    kept_ = take_iteration(seconds);
    kept_.steady = steady;
    if (last_seconds_ >= 0) kept_.change = seconds / last_seconds_ - 1;
    done_ = true;
    return;
  }
  spans_.erase(iteration_);
  ends_.push_back(now());
  last_end_ = now();
  last_seconds_ = seconds;
  ++iteration_;
  if (until_ == Until::stopped) allow_one_more();
}

SimulationResult simulate(const Program& program, const Cluster& cluster, const ComputeModel& compute, Network& network,
                          const EngineOptions& options) {
  return simulate_works(program, cluster, expand_ops(program, cluster, compute, options.algorithms), network, options);
}

SimulationResult simulate_works(const Program& program, const Cluster& cluster, const std::vector<OpWork>& works,
                                Network& network, const EngineOptions& options) {
  const NodeClasses classes = classify_nodes(works, cluster);
  Execution execution(program, cluster, works, classes, options);
  network.run(cluster.links(), execution.routes(), [&](NetworkSession& session) { execution.run(session); });

  const Execution::Kept& kept = execution.kept();
  const Utilisation link = busiest_link(link_seconds(works, cluster), cluster, kept.seconds);
  const Utilisation rank = busiest_rank(program, works, kept.seconds);
  return {timeline_of(kept, program, works, classes, cluster), link.share >= rank.share ? link : rank, kept.change};
}

}  // namespace shardsim
