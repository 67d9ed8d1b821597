#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "models/collective/collective.h"
#include "plan/column_shards/shard_costs.h"

namespace shardsim {
namespace {

// The bytes that a kernel moves, its lookups, the host's seconds for it, and where it goes table by table the seconds
// that its tables add (seconds_by_tables()).
struct Amounts {
  double hbm_bytes = 0, lookups = 0, host_seconds = 0, table_seconds = 0;
  Amounts& operator+=(const Amounts& other) {
    hbm_bytes += other.hbm_bytes;
    lookups += other.lookups;
    host_seconds += other.host_seconds;
    table_seconds += other.table_seconds;
    return *this;
  }
  bool empty() const { return hbm_bytes <= 0 && lookups <= 0 && host_seconds <= 0; }
};

Amounts amounts_at(const LoadStep& step, std::size_t rank) {
  return {amount_at(step.hbm_bytes, rank), amount_at(step.lookups, rank), amount_at(step.host_seconds, rank)};
}

// The work of every rank for a piece that rank 0 holds. In a world of one rank all work is the owner's.
Amounts everywhere(const LoadStep& step, int world) {
  return world > 1 ? amounts_at(step, 1) : Amounts{};
}

Amounts of_owner(const LoadStep& step, int world) {
  Amounts own = amounts_at(step, 0);
  const Amounts other = everywhere(step, world);
  return {own.hbm_bytes - other.hbm_bytes, own.lookups - other.lookups, own.host_seconds - other.host_seconds};
}

// Kernels by the key of their step. Their amounts are those asked about; everything else stays as the first step says.
class Kernels {
 public:
  Kernels(const ComputeModel& compute, const GpuSpec& gpu) : seconds_of_(compute.on(gpu)) {}

  std::size_t index_of(const LoadStep& step) {
    const auto [place, fresh] = index_.try_emplace(step.key, works_.size());
    if (fresh) works_.push_back(step.work);
    if (fresh) calls_.emplace_back();
    return place->second;
  }

  // Notes the seconds of a call of the kernel without lookups.
  void goes_by_tables(std::size_t kernel, double call) {
    if (!calls_[kernel]) calls_[kernel] = call;
  }

  std::size_t size() const { return works_.size(); }

  double seconds(std::size_t kernel, const Amounts& amounts) {
    if (amounts.empty()) return 0;
    if (calls_[kernel]) return *calls_[kernel] + amounts.table_seconds;
    ComputeWork& work = works_[kernel];
    work.hbm_bytes = amounts.hbm_bytes;
    work.lookups = amounts.lookups;
    work.host_link = {amounts.host_seconds};
    work.sorted_update = work.kind == ComputeWork::Kind::update && work.lookups > 0;
    return seconds_of_(work).value;
  }

 private:
  ComputeModel::OnGpu seconds_of_;
  std::map<std::string, std::size_t> index_;
  std::vector<ComputeWork> works_;
  std::vector<std::optional<double>> calls_;  // by kernel: of those that go table by table
};

struct KernelPart {
  std::size_t kernel = 0;
  Amounts amounts;
};

bool is_of_owner(const LoadStep& step, ShardSteps steps) {
  if (step.collective || step.phase == LoadStep::Phase::inputs) return false;
  return steps == ShardSteps::all || (step.phase == LoadStep::Phase::forward) == (steps == ShardSteps::forward);
}

class ClosedFormShards final : public ShardCosts {
 public:
  ClosedFormShards(const Workload& workload, const Cluster& cluster, const PlannerContext& context, ShardSteps steps)
      : context_(context),
        steps_(steps),
        world_(cluster.world_size()),
        one_kernel_each_(workload.embedding_kernels == "per_table"),
        compute_(context.host.compute_model()),
        gpu_(cluster.spec().gpu),
        kernels_(compute_, gpu_) {
    make_room();
  }

  void learn(const Placement& piece) override {
    std::vector<KernelPart>& parts = parts_.emplace_back();
    for (const LoadStep& step : context_.host.load_of(piece).steps) {
      if (!is_of_owner(step, steps_)) continue;
      Amounts amounts = of_owner(step, world_);
      if (amounts.empty()) continue;
      const std::size_t kernel = kernels_.index_of(step);
      if (const auto by_tables = seconds_by_tables(step, compute_, gpu_)) {
        kernels_.goes_by_tables(kernel, by_tables->call);
        amounts.table_seconds = by_tables->added;
      }
      parts.push_back({kernel, amounts});
    }
    double& alone = alone_.emplace_back(0.0);
    for (const KernelPart& part : parts) alone += kernels_.seconds(part.kernel, part.amounts);
    make_room();
  }

  void clear(int rank) override {
    std::fill_n(shard(rank), width_, Amounts{});
    seconds_[static_cast<std::size_t>(rank)] = 0;
  }

  void add(int rank, int kind) override {
    seconds_[static_cast<std::size_t>(rank)] += alone_[static_cast<std::size_t>(kind)];
    Amounts* const sums = shard(rank);
    for (const KernelPart& part : parts_[static_cast<std::size_t>(kind)]) sums[part.kernel] += part.amounts;
  }

  double seconds(int rank) override {
    if (one_kernel_each_) return seconds_[static_cast<std::size_t>(rank)];
    double total = 0;
    for (std::size_t kernel = 0; kernel < kernels_.size(); ++kernel) {
      total += kernels_.seconds(kernel, shard(rank)[kernel]);
    }
    return total;
  }

 private:
  void make_room() {
    width_ = std::max<std::size_t>(kernels_.size(), 1);
    sums_.assign(static_cast<std::size_t>(world_) * width_, {});
    seconds_.assign(static_cast<std::size_t>(world_), 0.0);
  }

  Amounts* shard(int rank) { return sums_.data() + static_cast<std::size_t>(rank) * width_; }

  const PlannerContext& context_;
  ShardSteps steps_;
  int world_;
  bool one_kernel_each_;  // tables do not share lookups and updates
  const ComputeModel& compute_;
  const GpuSpec& gpu_;
  Kernels kernels_;
  std::vector<std::vector<KernelPart>> parts_;  // by kind
  std::vector<double> alone_;                   // by kind, seconds
  std::size_t width_ = 1;
  std::vector<Amounts> sums_;    // [rank][kernel]
  std::vector<double> seconds_;  // by rank: of all pieces, each alone
};

// Exchanges wait for their last rank, so that the skewed start of NeuroShard's forward exchange is what the slowest
// shard takes: a plan costs that, what every rank does alike, and the exchanges one after the other.
class ClosedFormPlans final : public PlanCosts {
 public:
  ClosedFormPlans(const Cluster& cluster, const PlannerContext& context, bool with_inputs)
      : cluster_(cluster),
        context_(context),
        with_inputs_(with_inputs),
        world_(cluster.world_size()),
        kernels_(context.host.compute_model(), cluster.spec().gpu),
        ranks_(all_ranks(world_)) {}

  void learn(const PieceKind&, const Placement& piece) override {
    Parts& parts = parts_.emplace_back();
    for (const LoadStep& step : context_.host.load_of(piece).steps) {
      if (step.phase == LoadStep::Phase::inputs && !with_inputs_) continue;
      if (step.collective) {
        add_exchange(step, parts);
      } else {
        add_kernel(step, parts);
      }
    }
  }

  void seconds(std::span<const ShardedPieces> plans, std::span<const double> limits,
               std::span<double> seconds) override {
    for (std::size_t i = 0; i < plans.size(); ++i) seconds[i] = of(plans[i], limits[i]);
  }

  std::size_t batch() const override { return 1; }

 private:
  struct Exchange {
    std::string key;
    bool returns = false;
    bool even = false;
  };
  struct Sent {
    std::size_t exchange = 0;
    double bytes = 0;  // between the owner and every member
  };
  struct Parts {
    std::vector<KernelPart> common;
    std::vector<Sent> sent;
  };

  // An even exchange (that of splits) is the same for every plan.
  void add_exchange(const LoadStep& step, Parts& parts) {
    if (*step.collective != CollectiveKind::all_to_all || step.bytes_to.empty()) return;
    const auto same = [&](const Exchange& other) { return other.key == step.key; };
    auto found = std::ranges::find_if(exchanges_, same);
    if (found == exchanges_.end()) {
      found = exchanges_.insert(found, {step.key, step.returns, step.bytes_to.size() == 1 && world_ > 1});
      if (found->even)
        even_seconds_ += time_of(std::vector<double>(ranks_.size(), step.bytes_to.front()), step.returns);
    }
    if (!found->even)
      parts.sent.push_back({static_cast<std::size_t>(found - exchanges_.begin()), step.bytes_to.front()});
  }

  // The owners' own work on the inputs (putting received ids in order) is spread evenly over the ranks, because it is
  // little.
  void add_kernel(const LoadStep& step, Parts& parts) {
    Amounts amounts = everywhere(step, world_);
    if (step.phase == LoadStep::Phase::inputs) {
      const Amounts own = of_owner(step, world_);
      amounts += {own.hbm_bytes / world_, own.lookups / world_, own.host_seconds / world_};
    }
    if (!amounts.empty()) parts.common.push_back({kernels_.index_of(step), amounts});
  }

  double of(const ShardedPieces& plan, double limit) {
    double total = *std::ranges::max_element(plan.shard_seconds);
    if (total >= limit) return total;
    total += even_seconds_;
    add_up(plan);
    for (std::size_t kernel = 0; kernel < common_.size(); ++kernel) total += kernels_.seconds(kernel, common_[kernel]);
    for (std::size_t i = 0; i < exchanges_.size() && total < limit; ++i) total += exchange_seconds(i);
    return total;
  }

  void add_up(const ShardedPieces& plan) {
    common_.assign(kernels_.size(), {});
    bytes_.assign(exchanges_.size() * ranks_.size(), 0.0);
    for (std::size_t i = 0; i < plan.kinds.size(); ++i) {
      const Parts& parts = parts_[static_cast<std::size_t>(plan.kinds[i])];
      for (const KernelPart& part : parts.common) common_[part.kernel] += part.amounts;
      for (const Sent& sent : parts.sent) bytes_[sent.exchange * ranks_.size() + plan.rank_of[i]] += sent.bytes;
    }
  }

  double exchange_seconds(std::size_t exchange) {
    if (exchanges_[exchange].even) return 0;
    const auto first = bytes_.begin() + static_cast<std::ptrdiff_t>(exchange * ranks_.size());
    return time_of({first, first + world_}, exchanges_[exchange].returns);
  }

  double time_of(const std::vector<double>& bytes_to, bool returns) const {
    ByteMatrix matrix;
    matrix.kind = ByteMatrix::Kind::by_destination;
    matrix.transposed = returns;
    for (const double bytes : bytes_to) matrix.units.push_back(std::llround(bytes));
    return expand_collective({CollectiveKind::all_to_all, ranks_, &matrix, 0}, cluster_, "auto").alone(cluster_).value;
  }

  const Cluster& cluster_;
  const PlannerContext& context_;
  bool with_inputs_;
  int world_;
  Kernels kernels_;
  std::vector<int> ranks_;
  std::vector<Exchange> exchanges_;
  double even_seconds_ = 0;
  std::vector<Parts> parts_;  // by kind
  std::vector<Amounts> common_;
  std::vector<double> bytes_;  // [exchange][rank]
};

}  // namespace

std::vector<double> slowness(const Cluster& cluster) {
  std::vector<double> factors;
  for (int rank = 0; rank < cluster.world_size(); ++rank) factors.push_back(1 / cluster.compute_factor(rank));
  return factors;
}

std::unique_ptr<ShardCosts> closed_form_shard_costs(const Workload& workload, const Cluster& cluster,
                                                    const PlannerContext& context, ShardSteps steps) {
  return std::make_unique<ClosedFormShards>(workload, cluster, context, steps);
}

std::unique_ptr<PlanCosts> closed_form_plan_costs(const Cluster& cluster, const PlannerContext& context,
                                                  bool with_inputs) {
  return std::make_unique<ClosedFormPlans>(cluster, context, with_inputs);
}

}  // namespace shardsim
