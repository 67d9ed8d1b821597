#include "sim/memory/memory_profile.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>
#include <tuple>

#include "plan/row_stores.h"
#include "program/timeline/iteration_window.h"
#include "sim/memory/buffer_sizes.h"

namespace shardsim {
namespace {

// A buffer that ends when another begins is gone before it: instants this much of an iteration apart are one.
constexpr double kInstant = 1e-9;

struct Lifetime {
  double start = 0, end = 0;
  bool operator==(const Lifetime&) const = default;
};

// The time at which each operation ran, by rank and operation; start above end where it did not.
class Times {
 public:
  Times(const Timeline& timeline, std::size_t ops)
      : ops_(ops), spans_(ops * static_cast<std::size_t>(timeline.world_size), {1, 0}) {
    for (const Span& span : timeline.spans) {
      spans_[static_cast<std::size_t>(span.rank) * ops_ + static_cast<std::size_t>(span.op)] = {span.start_us,
                                                                                                span.end_us};
    }
  }
  const Lifetime& of(int rank, int op) const {
    return spans_[static_cast<std::size_t>(rank) * ops_ + static_cast<std::size_t>(op)];
  }
  bool alike(int rank, int other) const { return std::ranges::equal(of(rank), of(other)); }

 private:
  std::span<const Lifetime> of(int rank) const { return {spans_.data() + static_cast<std::size_t>(rank) * ops_, ops_}; }

  std::size_t ops_;
  std::vector<Lifetime> spans_;
};

struct MemoryEvent {
  double at = 0;
  std::int64_t bytes = 0;  // negative: freed
  MemoryPart part = MemoryPart::inputs;
  int op = -1;
};

// One rank after the other.
class Peaks {
 public:
  // `begin`, `period`: of the steady iteration, us.
  Peaks(const std::vector<Buffer>& buffers, const Times& times, double begin, double period)
      : buffers_(buffers), times_(times), begin_(begin), period_(period) {}

  MemoryPeak of(int rank, const MemoryAmounts& resident) {
    events_.clear();
    for (const Buffer& buffer : buffers_) {
      const std::int64_t bytes = bytes_at(buffer.bytes, rank);
      if (bytes > 0) add(buffer, bytes, rank);
    }
    std::sort(events_.begin(), events_.end(), [](const MemoryEvent& a, const MemoryEvent& b) {
      return std::tuple(a.at, -a.bytes, a.op) < std::tuple(b.at, -b.bytes, b.op);
    });
    MemoryPeak peak = highest(resident);
    if (peak.op >= 0) peak.at_us = in_period(times_.of(rank, peak.op).start);
    return peak;
  }

  // True when two ranks hold the same buffers at the same times, as most of a large cluster do.
  bool alike(int rank, int other) const {
    return times_.alike(rank, other) && std::ranges::all_of(buffers_, [&](const Buffer& buffer) {
             return bytes_at(buffer.bytes, rank) == bytes_at(buffer.bytes, other);
           });
  }

 private:
  // With a pipeline an operation may start a period or more before or after the window of its iteration.
  double in_period(double at) const {
    if (period_ <= 0) return at;
    const double since = std::fmod(at - begin_, period_);
    return since < 0 ? since + period_ : since;
  }

  Lifetime life(const Buffer& buffer, int rank) const {
    Lifetime life = times_.of(rank, buffer.writer);
    for (const Buffer::Reader& reader : buffer.readers) {
      const Lifetime& read = times_.of(rank, reader.op);
      if (read.start <= read.end) life.end = std::max(life.end, read.end + reader.later * period_);
    }
    return life;
  }

  // Adds the part of this iteration's buffer, and of those of the iterations around it, that falls into one period. An
  // operation that starts at an instant finds gone what ended there.
  void add(const Buffer& buffer, std::int64_t bytes, int rank) {
    const Lifetime& wrote = times_.of(rank, buffer.writer);
    if (wrote.start > wrote.end) return;
    Lifetime whole = life(buffer, rank);
    whole.end = std::max(whole.end - kInstant * period_, whole.start);
    const auto first = period_ > 0 ? static_cast<int>(std::floor(whole.start / period_)) : 0;
    const auto last = period_ > 0 ? static_cast<int>(std::floor(whole.end / period_)) : 0;
    for (int earlier = first; earlier <= last; ++earlier) {
      const double start = whole.start - earlier * period_, end = whole.end - earlier * period_;
      const bool prepared = buffer.part == MemoryPart::inputs && buffer.ahead > earlier;
      const MemoryPart part = prepared ? MemoryPart::inputs_ahead : buffer.part;
      events_.push_back({std::max(start, 0.0), bytes, part, start < 0 ? -1 : buffer.writer});
      if (earlier == last) events_.push_back({end, -bytes, part, -1});
    }
  }

  // A buffer that was alive when the period began was made so by an operation that starts in it, too: that one counts.
  MemoryPeak highest(const MemoryAmounts& resident) const {
    MemoryPeak peak;
    peak.amounts = resident;
    MemoryAmounts now = resident;
    std::int64_t bytes = resident.total(), most = bytes;
    for (const MemoryEvent& event : events_) {
      now[event.part] += event.bytes;
      bytes += event.bytes;
      const bool explains = bytes == most && peak.op < 0 && event.op >= 0;
      if (bytes <= most && !explains) continue;
      most = bytes;
      peak = {now, 0, event.op};
    }
    return peak;
  }

  const std::vector<Buffer>& buffers_;
  const Times& times_;
  double begin_, period_;
  std::vector<MemoryEvent> events_;
};

std::int64_t rounded_up(double bytes) {
  return static_cast<std::int64_t>(std::ceil(bytes));
}

// Optimizer state of one row of the placement, in bytes. For a table that is not sharded the optimizer of the dense
// part keeps as much for each element as for a parameter.
std::int64_t state_bytes(const Workload& workload, const Placement& placement) {
  const bool sharded = workload.tables[static_cast<std::size_t>(placement.table)].sharded;
  return sharded ? optimizer_row_bytes(workload.optimizer, placement.columns())
                 : placement.columns() * optimizer_row_bytes(workload.optimizer, 1);
}

// Bytes of one shard of a placement, which are as many for all shards of as many rows.
class ResidentShard {
 public:
  ResidentShard(const Placement& placement, const RowCaches& caches, const Workload& workload)
      : share_(caches.hbm),
        row_bytes_(stored_row_bytes(placement, workload)),
        state_(static_cast<double>(state_bytes(workload, placement))),
        cached_(!replicated(placement.strategy) && has_cache(placement.compute_kernel)),
        row_note_(4),
        states_share_(caches.hbm) {
    if (row_store_of(placement) != RowStore::none) {
      const bool apart = !stores_states(placement.compute_kernel);
      states_share_ = apart ? 1 : 0;
      row_note_ = apart ? 4 : 0;
    }
    count(0);
  }

  void add_to(MemoryAmounts& rank, std::uint64_t shard_rows) {
    if (shard_rows != rows_) count(shard_rows);
    rank[MemoryPart::tables] += tables_;
    rank[MemoryPart::optimizer] += optimizer_;
    if (cached_) rank[MemoryPart::cache] += cache_;
  }

 private:
  void count(std::uint64_t shard_rows) {
    const auto rows = static_cast<double>(shard_rows);
    rows_ = shard_rows;
    tables_ = rounded_up(share_ * rows * row_bytes_);
    optimizer_ = rounded_up(states_share_ * rows * state_);
    cache_ = rounded_up(rows * (row_note_ + 16 * share_));
  }

  double share_, row_bytes_, state_;
  bool cached_;
  double row_note_, states_share_;  // of all rows: what tells where a row is, in bytes, and states held
  std::uint64_t rows_ = 0;          // of these
  std::int64_t tables_ = 0, optimizer_ = 0, cache_ = 0;
};

// Sums of several batches' gradients, which are there in all of them, beside what each batch and its all-reduce take.
void add_accumulated(std::vector<MemoryAmounts>& resident, const Program& program, const Workload& workload) {
  if (workload.accumulate == 1) return;
  for (const Op& op : program.ops) {
    const bool of_rows = op.role == OpRole::accumulate_gradient && !op.shards.empty();
    if (!of_rows) continue;
    const BytesByRank bytes = dense_gradient_of(program, op, false);
    for (std::size_t rank = 0; rank < resident.size(); ++rank)
      resident[rank][MemoryPart::table_gradients] += bytes_at(bytes, static_cast<int>(rank));
  }
  const bool of_dense = std::ranges::find(program.ops, OpRole::dense_accumulate, &Op::role) != program.ops.end();
  for (MemoryAmounts& rank : resident)
    if (of_dense) rank[MemoryPart::dense_gradients] += workload.dense.parameters.count;
}

// An element has the state that a row of one element has: row-wise Adagrad is Adagrad there.
std::int64_t dense_bytes(const Workload& workload) {
  const std::int64_t parameters = workload.dense.parameters.count;
  return parameters + parameters / 4 * optimizer_row_bytes(workload.optimizer, 1);
}

// Rows that leave the device in each iteration, or go to replicas, are buffers.
void take_off_moved(std::vector<MemoryAmounts>& resident, const Program& program) {
  for (const Op& op : program.ops) {
    if (op.role != OpRole::stash_rows && op.role != OpRole::scatter_rows) continue;
    const BytesByRank bytes = op.role == OpRole::scatter_rows ? rows_scattered(program, op) : BytesByRank{};
    for (std::size_t rank = 0; rank < resident.size(); ++rank)
      resident[rank][MemoryPart::tables] -= bytes.empty() ? std::llround(op.host_bytes.at(rank)) : bytes[rank];
  }
}

// A guess that rests on one published run of TorchRec's benchmark (scenarios/measurements/torchrec/pipelines.csv,
// t016): 9.3 GB held by PyTorch's allocator above the 63.4 that it had given out, of which 14.9 stay for the whole run.
constexpr double kFragments = 0.19;  // of what comes and goes

}  // namespace

std::vector<MemoryAmounts> resident_memory(const Plan& plan, const Workload& workload, int world_size) {
  MemoryAmounts everywhere;
  everywhere[MemoryPart::dense] = dense_bytes(workload);
  std::vector<MemoryAmounts> ranks(static_cast<std::size_t>(world_size), everywhere);
  const std::vector<RowCaches> caches = row_caches(plan.placements, workload);
  for (std::size_t index = 0; index < plan.placements.size(); ++index) {
    const Placement& placement = plan.placements[index];
    const bool cut = placement.shards() > 1;
    ResidentShard shard(placement, caches[index], workload);
    for (const std::vector<int>& group : placement.holders) {
      for (std::size_t i = 0; i < group.size(); ++i) {
        shard.add_to(ranks.at(static_cast<std::size_t>(group[i])), placement.shard_rows(cut ? static_cast<int>(i) : 0));
      }
    }
  }
  return ranks;
}

std::size_t MemoryProfile::fullest() const {
  std::size_t fullest = 0;
  std::int64_t most = ranks.front().bytes();
  for (std::size_t rank = 1; rank < ranks.size(); ++rank) {
    const std::int64_t bytes = ranks[rank].bytes();
    if (bytes <= most) continue;
    most = bytes;
    fullest = rank;
  }
  return fullest;
}

MemoryProfile memory_profile(const Program& program, const Timeline& timeline, const Plan& plan,
                             const Workload& workload) {
  return memory_profile(program, buffers_of(program, workload), timeline, plan, workload);
}

MemoryProfile memory_profile(const Program& program, const std::vector<Buffer>& buffers, const Timeline& timeline,
                             const Plan& plan, const Workload& workload) {
  std::vector<MemoryAmounts> resident = resident_memory(plan, workload, program.world_size);
  take_off_moved(resident, program);
  add_accumulated(resident, program, workload);
  const Times times(timeline, program.ops.size());
  const std::vector<IterationWindow> windows = iteration_windows(timeline);
  Peaks peaks(buffers, times, windows.empty() ? 0 : windows.front().begin_us, timeline.iteration_ms * 1e3);
  const int per_node = std::clamp(timeline.ranks_per_node, 1, std::max(1, program.world_size));
  std::vector<int> looked_at(static_cast<std::size_t>(per_node), -1);  // [GPU] the last rank
  MemoryProfile profile;
  profile.ranks.reserve(static_cast<std::size_t>(program.world_size));
  for (int rank = 0; rank < program.world_size; ++rank) {
    int& other = looked_at[static_cast<std::size_t>(rank % per_node)];
    const MemoryAmounts& stays = resident[static_cast<std::size_t>(rank)];
    if (other >= 0 && stays == resident[static_cast<std::size_t>(other)] && peaks.alike(rank, other)) {
      profile.ranks.push_back(profile.ranks[static_cast<std::size_t>(other)]);
    } else {
      profile.ranks.push_back(peaks.of(rank, stays));
      other = rank;
    }
  }
  return profile;
}

MemoryAllowance memory_allowance(const MemoryPeak& peak, const Workload& workload) {
  const auto first = peak.amounts.bytes.begin();
  const std::int64_t stays = std::accumulate(first, first + kResidentParts, std::int64_t{0});
  // The first step makes the states, which stay, beside the gradients and the temporary tensors of PyTorch's `foreach`
  // optimizers. Initialisation holds less: a bucket of DDP's beside what stays.
  const std::int64_t first_step = stays + 2 * workload.dense.parameters.count;
  return {static_cast<std::int64_t>(kFragments * static_cast<double>(peak.bytes() - stays)),
          std::max<std::int64_t>(0, first_step - peak.bytes())};
}

}  // namespace shardsim
