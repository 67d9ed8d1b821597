#include "sim/engine/execution.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/text.h"

namespace shardsim {
namespace {

constexpr std::size_t kRecent = 16;     // iterations whose spans are at hand in the end
constexpr std::size_t kFetchAhead = 8;  // transfers: who ends so soon is fetched from memory
constexpr std::size_t kCacheLine = 64;

// Rates, sizes and latencies are each in reason, and together they may not be. A time that is no number is above it,
// too.
void require_reasonable(double seconds, const Program& program) {
  if (seconds <= kMostSimulatedSeconds) return;
  throw input_error(
      Place{}, fmt::format("case {}: it would run for over {} s", excerpt(program.case_name), kMostSimulatedSeconds),
      "Check rates, rate factors, latencies, batch and lengths: together they are absurd");
}

}  // namespace

void Execution::run(NetworkSession& session) {
  begin(session);
  while (!done_) {
    const std::vector<TransferId> ended = session.advance({next()});
    for (std::size_t i = 0; i < ended.size(); ++i) {
      fetch_ending(ended, i);
      transfer_ended(ended[i]);
    }
    require_reasonable(now(), program_);
    fire_due();
  }
}

// No cache holds the ranks, links and collectives of a large world, and events come to them in no order that a
// processor foresees. But who follows is known, so it is fetched from memory while others have their turn.
void Execution::fetch(const Rank& rank) const {
  const char* const begin = reinterpret_cast<const char*>(&rank);
  for (std::size_t at = 0; at < sizeof(Rank); at += kCacheLine) __builtin_prefetch(begin + at, 1);
}

// Fetches what the timer that fires soon will ask for.
void Execution::fetch_soon() const {
  const Timer* const soon = timers_.soon();
  if (soon == nullptr) return;
  if (soon->running >= 0) return __builtin_prefetch(&running_[static_cast<std::size_t>(soon->running)], 1);
  fetch(ranks_[static_cast<std::size_t>(soon->rank)]);
}

// Fetches what transfers that end soon after `ended`[at] will ask for: the collective and the link first, then, when
// these have come, the members and the ranks that wait.
void Execution::fetch_ending(std::span<const TransferId> ended, std::size_t at) const {
  if (at + 2 * kFetchAhead < ended.size()) {
    const TransferLog::Entry& entry = transfers_.of(ended[at + 2 * kFetchAhead]);
    __builtin_prefetch(&running_[static_cast<std::size_t>(entry.running)], 1);
  }
  if (at + kFetchAhead >= ended.size()) return;
  const auto [id, number] = transfers_.of(ended[at + kFetchAhead]);
  const Running& running = running_[static_cast<std::size_t>(id)];
  if (running.inside == 0 || running.synchronising) return;
  const std::vector<int>& members = group_of_[static_cast<std::size_t>(running.op)]->members(running.call);
  for_each_waiting(id, number, [&](int position) {
    __builtin_prefetch(&running.members[static_cast<std::size_t>(position)], 1);
    fetch(ranks_[static_cast<std::size_t>(members[static_cast<std::size_t>(position)])]);
  });
}

void Execution::begin(NetworkSession& session) {
  session_ = &session;
  last_end_ = now();
  for (std::size_t index = 0; index < ranks_.size(); ++index) advance_rank(static_cast<int>(index));
}

double Execution::next() const {
  if (!timers_.empty()) {
    require_reasonable(timers_.top().when, program_);
    return timers_.top().when;
  }
  if (moving_ > 0) return std::numeric_limits<double>::infinity();
  throw run_error("the program cannot proceed: operations wait for each other in a circle", "Check its dependencies");
}

void Execution::fire_due() {
  const std::size_t ended = ends_.size();
  const auto enough = [&] { return done_ || (until_ == Until::stopped && ends_.size() > ended); };
  while (!enough() && !timers_.empty() && timers_.top().when <= now()) {
    const Timer timer = timers_.top();
    timers_.pop();
    fetch_soon();
    fire(timer);
  }
}

// Only an end lets others start, and what starts here ends at a timer or with a transfer: each stream is asked once.
void Execution::advance_rank(int index) {
  RankStreams& streams = ranks_[index].streams;
  for (int stream = 0; stream < streams.streams(); ++stream) {
    const auto next = streams.take(stream);
    if (!next) continue;
    if (works_.of(next->op, next->iteration).is_collective()) {
      arrive(index, *next);
    } else {
      start_compute(index, *next);
    }
  }
}

std::span<const int> Execution::waiting_for(const UsedLink& used) const {
  return {waiting_ranks_.data() + used.first_waiting, static_cast<std::size_t>(used.waiting)};
}

template <typename Visit>
void Execution::for_each_waiting(int id, int used, const Visit& visit) const {
  const int call = running_[id].call;
  const GroupMembers& group = *group_of_[running_[id].op];
  const GroupMembers::Seat& one = group.seat_at(used);
  if (one.call == call) return visit(one.position);
  if (one.call != GroupMembers::kSeveral) return;
  for (const int index : waiting_for(used_[used])) {
    const GroupMembers::Seat& seat = group.seat(index);
    if (seat.call == call) visit(seat.position);
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
  computing.left = works_.of(next.op, next.iteration).seconds[rank.number];
  rank.computing.insert(rank.place_of(next.op), computing);
  computing_count(index, program_.op(next.op), +1);
  update_computing(rank, *rank.place_of(next.op));
}

// No work of the GPU slows the host.
double Execution::speed_of(const Rank& rank, const Op& op) const {
  const GpuSpec& gpu = cluster_.spec().gpu;
  if (op.op_class == OpClass::host) return 1;
  const double beside = rank.collectives > 0 ? 1.0 - gpu.overlap_slowdown : 1.0;
  if (gpu.stream_sharing <= 0 || rank.sharing < 2 || !occupies_gpu(op.role)) return beside;
  return beside / (1 + gpu.stream_sharing * (rank.sharing - 1));
}

void Execution::update_computing(Rank& rank, Computing& computing) {
  computing.left -= (now() - computing.updated) * computing.speed;
  computing.updated = now();
  computing.speed = speed_of(rank, program_.op(computing.op));
  Timer timer;
  timer.when = now() + std::max(computing.left, 0.0) / computing.speed;
  timer.rank = index_of_rank_[rank.number];
  timer.op = computing.op;
  timer.version = computing.version = ++versions_;
  set_timer(timer);
}

// A collective started (+1) or ended (-1) on this rank.
void Execution::collective_count(int index, int change) {
  Rank& rank = ranks_[index];
  const bool was_running = rank.collectives > 0;
  rank.collectives += change;
  if (cluster_.spec().gpu.overlap_slowdown <= 0 || was_running == (rank.collectives > 0)) return;
  for (Computing& computing : rank.computing) update_computing(rank, computing);
}

// A compute operation started (+1) or ended (-1) on this rank: its links, and what computes beside it, slow down or
// recover.
void Execution::computing_count(int index, const Op& op, int change) {
  if (op.op_class == OpClass::host) return;
  Rank& rank = ranks_[index];
  if (cluster_.spec().gpu.stream_sharing > 0 && occupies_gpu(op.role)) {
    rank.sharing += change;
    for (Computing& other : rank.computing)
      if (other.op != op.id && occupies_gpu(program_.op(other.op).role)) update_computing(rank, other);
  }
  const double slowdown = cluster_.spec().gpu.overlap_slowdown;
  if (slowdown <= 0) return;
  for (LinkId link : cluster_.links_of(rank.number)) {
    if (cluster_.links()[link].node < 0) continue;
    int& computing = used_[used_index_[link]].computing;
    const bool slowed = computing > 0;
    computing += change;
    if (slowed != (computing > 0)) session_->set_rate_factor(link, computing > 0 ? 1.0 - slowdown : 1.0);
  }
}

void Execution::arrive(int index, RankStreams::Next next) {
  const GroupMembers::Seat seat = group_of_[next.op]->seat(index);
  if (seat.call < 0) return;  // nobody meets it there: it stays
  const int id = running_id(next, seat.call);
  Running& running = running_[id];
  running.members[seat.position] = {now(), 0, true, -1};
  ++running.inside;
  collective_count(index, +1);
  if (--running.missing > 0) return;
  Timer timer;
  timer.when = now() + works_.of(next.op, next.iteration).calls[seat.call].loads.start.value;
  timer.running = id;
  set_timer(timer);
}

// The collective that a rank arrives at; the first one begins it.
int Execution::running_id(const RankStreams::Next& next, int call) {
  std::vector<Current>& current = current_of(next.op, call);
  const auto known = std::ranges::find(current, next.iteration, &Current::iteration);
  if (known != current.end()) return known->id;
  current.push_back({next.iteration, static_cast<int>(running_.size())});
  Running& fresh = running_.emplace_back();
  fresh.op = next.op;
  fresh.call = call;
  fresh.iteration = next.iteration;
  fresh.synchronising = works_.of(next.op, next.iteration).calls[call].loads.synchronising;
  fresh.members.resize(group_of_[next.op]->members(call).size());
  fresh.missing = static_cast<int>(fresh.members.size());
  return current.back().id;
}

// The start phase is over: all loads of the call move at once.
void Execution::move_bytes(int id) {
  Running& running = running_[id];
  for (const Load& load : loads_[works_.kind_of(running.iteration)][running.op][running.call]) {
    transfers_.add(session_->start(load.route, load.bytes), {id, load.used});
    ++running.transfers;
    ++moving_;
    if (running.synchronising) continue;
    for_each_waiting(id, load.used, [&](int position) { ++running.members[position].pending; });
  }
  end_where_done(id);
}

void Execution::transfer_ended(TransferId transfer) {
  const auto [id, used] = transfers_.take(transfer);
  Running& running = running_[id];
  --moving_;
  --running.transfers;
  running.last_used = used;
  if (running.inside == 0) return;
  if (!running.synchronising) return end_waiting_for(used, id);
  if (running.transfers == 0) end_where_done(id);
}

// Those who wait for it in that collective, for nothing else any more, leave. They may start other collectives:
// references to Running do not last.
void Execution::end_waiting_for(int used, int id) {
  for_each_waiting(id, used, [&](int position) {
    Running::Member& member = running_[id].members[position];
    member.last_used = used;
    if (--member.pending == 0) end_if_done(id, position);
  });
}

void Execution::end_where_done(int id) {
  const int members = static_cast<int>(running_[id].members.size());
  for (int position = 0; position < members; ++position) end_if_done(id, position);
}

void Execution::end_if_done(int id, int position) {
  Running& running = running_[id];
  if (running.inside == 0) return;
  Running::Member& member = running.members[position];
  if (!member.inside || member.pending > 0 || (running.synchronising && running.transfers > 0)) return;
  const double arrived = member.arrived;
  const int last_used = running.synchronising ? running.last_used : member.last_used;
  const LinkId last_link = last_used < 0 ? -1 : used_[last_used].link;
  const int op = running.op, iteration = running.iteration;
  const int index = group_of_[op]->members(running.call)[position];
  member.inside = false;
  if (--running.inside == 0) {
    std::erase_if(current_of(op, running.call), [&](const Current& each) { return each.iteration == iteration; });
    running.members = {};
  }
  collective_count(index, -1);
  end_op(index, op, iteration, arrived, last_link);  // may start other collectives: `running` may move
}

void Execution::fire(const Timer& timer) {
  if (timer.running >= 0) return move_bytes(timer.running);
  Rank& rank = ranks_[timer.rank];
  const auto computing = rank.place_of(timer.op);
  if (computing == rank.computing.end() || computing->op != timer.op || computing->version != timer.version) return;
  const Computing ended = *computing;
  rank.computing.erase(computing);
  computing_count(timer.rank, program_.op(ended.op), -1);
  end_op(timer.rank, ended.op, ended.iteration, ended.started);
}

void Execution::end_op(int index, int op, int iteration, double started, LinkId link) {
  Rank& rank = ranks_[index];
  if (keep_ != Keep::none)
    spans_of(iteration).push_back({started, now(), rank.number, program_.ops[op].stream, op, link});
  const bool had_finished = rank.streams.finished(iteration_);
  rank.streams.end(op);
  if (!had_finished && rank.streams.finished(iteration_)) --unfinished_;
  while (!done_ && unfinished_ == 0) {
    iteration_ended();
    count_unfinished();
  }
  if (!done_) advance_rank(index);
}

std::vector<Execution::RawSpan>& Execution::spans_of(int iteration) {
  const auto [entry, added] = spans_.try_emplace(iteration);
  if (added) entry->second.reserve(spans_of_all_);
  return entry->second;
}

void Execution::count_unfinished() {
  unfinished_ = static_cast<int>(
      std::ranges::count_if(ranks_, [&](const Rank& rank) { return !rank.streams.finished(iteration_); }));
}

// Another iteration may begin, also on ranks that were too far ahead.
void Execution::allow_one_more() {
  for (Rank& rank : ranks_) rank.streams.allow(iteration_ + kAhead);
  for (std::size_t index = 0; index < ranks_.size(); ++index) advance_rank(static_cast<int>(index));
}

// The iteration that ends now, `seconds` after the one before it.
Execution::Kept Execution::take_iteration(double seconds) {
  Kept kept;
  kept.spans = std::move(spans_[iteration_]);
  kept.origin = last_end_;
  for (const RawSpan& span : kept.spans) kept.origin = std::min(kept.origin, span.start);
  kept.began = last_end_;
  kept.ended = now();
  kept.seconds = seconds;
  kept.iterations_run = iteration_ + 1;
  return kept;
}

void Execution::iteration_ended() {
  const double seconds = now() - last_end_;
  const bool steady = last_seconds_ >= 0 && std::abs(seconds - last_seconds_) <= options_.steady * seconds;
  const int run = iteration_ + 1;
  if (until_ == Until::steady && (steady || run >= std::max(options_.iterations, options_.most_iterations))) {
    kept_ = take_iteration(seconds);
    kept_.steady = steady;
    if (last_seconds_ >= 0) kept_.change = seconds / last_seconds_ - 1;
    done_ = true;
    return;
  }
  if (keep_ == Keep::recent) recent_.push_back(take_iteration(seconds));
  if (until_ != Until::all && recent_.size() > kRecent) recent_.pop_front();
  done_ = until_ == Until::all && run == options_.iterations;
  spans_.erase(iteration_);
  ends_.push_back(now());
  last_end_ = now();
  last_seconds_ = seconds;
  ++iteration_;
  if (until_ == Until::stopped || (until_ == Until::steady && run >= options_.iterations)) allow_one_more();
}

}  // namespace shardsim
