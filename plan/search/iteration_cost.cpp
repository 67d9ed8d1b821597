#include "plan/search/iteration_cost.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace shardsim::search {
namespace {

using Counts = Share::Counts;

constexpr double kNothing = 1e-3;     // bytes or lookups: what sums leave when all that was added is taken away
constexpr double kBucket = 25 << 20;  // bytes of a bucket of gradients (sim/lower/dense/dense_steps.h)

void add_amount(Share::Amount& to, const Share::Amount& from, double times) {
  to.hbm_bytes += times * from.hbm_bytes;
  to.lookups += times * from.lookups;
  to.host_seconds += times * from.host_seconds;
  to.table_seconds += times * from.table_seconds;
}

bool differs(const Share::Amount& a, const Share::Amount& b) {
  return a.hbm_bytes != b.hbm_bytes || a.lookups != b.lookups || a.host_seconds != b.host_seconds ||
         a.table_seconds != b.table_seconds;
}

// Each number less the last one, which all have.
Share split(const std::vector<Share::Amount>& amounts) {
  Share share;
  share.all = amounts.back();
  for (std::size_t i = 0; i < amounts.size(); ++i) {
    if (!differs(amounts[i], share.all)) continue;
    Share::Amount more = amounts[i];
    add_amount(more, share.all, -1);
    share.extra.emplace_back(static_cast<int>(i), more);
  }
  return share;
}

}  // namespace

IterationCost::IterationCost(IterationOutline outline, const Workload& workload, const Cluster& cluster,
                             const ComputeModel& compute)
    : workload_(workload),
      cluster_(cluster),
      compute_(compute),
      seconds_on_gpu_(compute.on(cluster.spec().gpu)),
      exchanges_(cluster),
      world_(static_cast<std::size_t>(cluster.world_size())),
      nodes_(static_cast<std::size_t>(cluster.nodes())),
      per_node_(static_cast<std::size_t>(cluster.ranks_per_node())),
      streams_(outline.streams),
      pipelined_(outline.pipelined),
      free_(static_cast<std::size_t>(outline.streams), std::vector<double>(world_, 0.0)),
      busy_(world_, 0.0),
      start_(world_, 0.0) {
  // Operations of one key in a row become one.
  std::vector<int> node_of;
  for (OutlineOp& op : outline.ops) {
    const auto [entry, added] =
        op.key.empty() ? std::pair{by_key_.end(), true} : by_key_.try_emplace(op.key, static_cast<int>(ops_.size()));
    node_of.push_back(added ? static_cast<int>(ops_.size()) : entry->second);
    if (added) ops_.emplace_back();
    Node& node = ops_[static_cast<std::size_t>(node_of.back())];
    for (const int id : op.after) {
      if (node_of[static_cast<std::size_t>(id)] != node_of.back()) node.after.push_back(node_of[id]);
    }
    node.after_previous.insert(node.after_previous.end(), op.after_previous.begin(), op.after_previous.end());
    if (added) node.op = std::move(op);
    node.seconds.assign(world_, 0.0);
    node.ends.assign(world_, 0.0);
    node.before.assign(world_, 0.0);
  }
  for (Node& node : ops_) {
    for (int& id : node.after_previous) id = node_of[static_cast<std::size_t>(id)];
    for (std::vector<int>* ids : {&node.after, &node.after_previous}) {
      std::ranges::sort(*ids);
      ids->erase(std::unique(ids->begin(), ids->end()), ids->end());
    }
    for (std::size_t rank = 0; rank < world_ && !node.op.seconds.empty(); ++rank) {
      node.seconds[rank] = amount_at(node.op.seconds, rank);
    }
    if (!node.op.seconds.empty()) node.longest = *std::ranges::max_element(node.op.seconds);
  }
}

void IterationCost::learn(Node& node, const LoadStep& step) const {
  node.known = true;
  node.step = step;
  for (auto* amounts :
       {&node.step.hbm_bytes, &node.step.lookups, &node.step.host_seconds, &node.step.bytes_to, &node.step.bytes}) {
    amounts->clear();
  }
  node.step.tables.clear();
  const bool by_nodes =
      step.collective && (step.reach == LoadStep::Reach::across_nodes ||
                          (step.collective != CollectiveKind::all_to_all && step.reach == LoadStep::Reach::in_node));
  node.counts = by_nodes ? Counts::nodes : Counts::ranks;
  if (step.collective && step.collective == CollectiveKind::all_to_all && step.reach == LoadStep::Reach::in_node) {
    node.counts = Counts::other;
  }
  // Reductions across nodes have one size, or one per GPU of a node.
  if (step.collective && step.collective != CollectiveKind::all_to_all && step.reach == LoadStep::Reach::across_nodes) {
    node.counts = Counts::other;
  }
  std::size_t size = world_;
  if (node.counts == Counts::nodes) size = nodes_;
  if (node.counts == Counts::other) size = per_node_;
  node.extra.assign(size, {});
  if (!holds_embeddings(workload_.dense)) return;
  if (step.work.kind == ComputeWork::Kind::lookup && !step.collective) node.measured = Node::Measured::lookup;
  if (step.work.kind == ComputeWork::Kind::update && !step.collective) node.measured = Node::Measured::update;
}

std::vector<Share> IterationCost::shares_of(const PlacementLoad& load) const {
  std::vector<Share> shares;
  for (const LoadStep& step : load.steps) {
    const auto found = by_key_.find(step.key);
    // In a pipeline all groups share one exchange of splits, and HugeCTR's lacks steps of others. What else the outline
    // lacks costs what nobody counts here: plans are judged by simulation in the end.
    if (found == by_key_.end()) continue;
    Node& node = ops_[static_cast<std::size_t>(found->second)];
    if (!node.known) learn(node, step);
    const std::optional<TableSeconds> by_tables =
        step.collective ? std::nullopt : seconds_by_tables(step, compute_, cluster_.spec().gpu);
    if (by_tables && !node.call_seconds) node.call_seconds = by_tables->call;
    std::vector<Share::Amount> amounts(node.extra.size());
    const std::vector<double>& bytes = step.bytes_to.empty() ? step.bytes : step.bytes_to;
    for (std::size_t i = 0; i < amounts.size(); ++i) {
      if (step.collective) {
        amounts[i].hbm_bytes = amount_at(bytes, i);
      } else if (workload_.embedding_kernels == "per_table" && step.work.kind != ComputeWork::Kind::dense &&
                 !holds_embeddings(workload_.dense)) {  // a kernel of its own
        const bool there =
            amount_at(step.hbm_bytes, i) > 0 || amount_at(step.lookups, i) > 0 || amount_at(step.host_seconds, i) > 0;
        amounts[i].host_seconds = there ? step_seconds(step, i, compute_, cluster_.spec().gpu).value : 0;
      } else {
        amounts[i] = {amount_at(step.hbm_bytes, i), amount_at(step.lookups, i), amount_at(step.host_seconds, i)};
        // The tables are known of the first rank; the others' shares of them take as much a lookup.
        if (by_tables) amounts[i].table_seconds = by_tables->added * amounts[i].lookups / amount_at(step.lookups, 0);
      }
    }
    Share share = split(amounts);
    share.op = found->second;
    share.counts = node.counts;
    shares.push_back(std::move(share));
  }
  return shares;
}

void IterationCost::add(const std::vector<Share>& shares, const Shift& shift, int times) {
  for (const Share& share : shares) {
    Node& node = ops_[static_cast<std::size_t>(share.op)];
    node.count += times;
    if (node.count == 0 || node.count == times) connected_ = false;
    add_amount(node.all, share.all, times);
    node.extras += times * static_cast<int>(share.extra.size());
    const int moved = share.counts == Counts::ranks ? shift.rank : share.counts == Counts::nodes ? shift.node : 0;
    for (const auto& [index, amount] : share.extra) {
      add_amount(node.extra[static_cast<std::size_t>(index + moved)], amount, times);
    }
    node.stale = true;
    if (node.count > 0 && node.extras > 0) continue;
    std::ranges::fill(node.extra, Share::Amount{});
    node.extras = 0;
    if (node.count == 0) node.all = {};
  }
}

void IterationCost::clear() {
  connected_ = false;
  for (Node& node : ops_) {
    node.count = node.extras = 0;
    node.all = {};
    std::ranges::fill(node.extra, Share::Amount{});
    node.stale = true;
  }
}

double IterationCost::amount_seconds(const Node& node, const Share::Amount& amount, int rank) {
  const bool alone = workload_.embedding_kernels == "per_table" && node.step.work.kind != ComputeWork::Kind::dense &&
                     !holds_embeddings(workload_.dense);
  double seconds = amount.host_seconds;
  if (!alone) {
    work_.hbm_bytes = amount.hbm_bytes > kNothing ? amount.hbm_bytes : 0;
    work_.lookups = amount.lookups > kNothing ? amount.lookups : 0;
    work_.host_link = {std::max(amount.host_seconds, 0.0)};
    work_.sorted_update = node.step.work.kind == ComputeWork::Kind::update && work_.lookups > 0;
    seconds = node.call_seconds && work_.lookups > 0 ? *node.call_seconds + amount.table_seconds
                                                     : seconds_on_gpu_(work_).value;
  }
  return std::max(seconds, 0.0) / cluster_.compute_factor(rank);
}

void IterationCost::refresh_compute(Node& node) {
  work_.kind = node.step.work.kind;
  work_.optimizer = node.step.work.optimizer;
  work_.indexed = node.step.work.indexed;
  work_.kernels = node.step.work.kernels;
  work_.sort = node.step.work.sort;
  node.longest = 0;
  Share::Amount before;
  for (std::size_t rank = 0; rank < world_; ++rank) {
    Share::Amount amount = node.all;
    if (node.extras > 0) add_amount(amount, node.extra[rank], 1);
    const bool same = rank > 0 && !differs(amount, before) && cluster_.spec().faults.empty();
    node.seconds[rank] = same ? node.seconds[rank - 1] : amount_seconds(node, amount, static_cast<int>(rank));
    node.longest = std::max(node.longest, node.seconds[rank]);
    before = amount;
  }
}

void IterationCost::refresh_collective(Node& node) {
  const LoadStep& step = node.step;
  const auto bytes_at = [&](std::size_t i) {
    const double bytes = node.all.hbm_bytes + (node.extras > 0 ? node.extra[i].hbm_bytes : 0);
    return bytes > kNothing ? bytes : 0;
  };
  if (step.collective == CollectiveKind::all_to_all) {
    bytes_.resize(node.extra.size());
    for (std::size_t i = 0; i < bytes_.size(); ++i) bytes_[i] = bytes_at(i);
    exchanges_.all_to_all(bytes_, step.reach, step.returns, node.seconds);
  } else if (node.counts == Counts::nodes) {
    for (std::size_t rank = 0; rank < world_; ++rank) {
      const bool same = rank % per_node_ > 0;
      node.seconds[rank] = same ? node.seconds[rank - 1]
                                : exchanges_.reduction(*step.collective, step.reach, bytes_at(rank / per_node_));
    }
  } else {
    double bytes = 0;
    for (std::size_t i = 0; i < node.extra.size(); ++i) bytes = std::max(bytes, bytes_at(i));
    const bool buckets = step.phase == LoadStep::Phase::update && workload_.full_input_exchange();
    // Whole tables until a bucket is full: it overshoots by half a table.
    const double table = bytes / node.count;
    const double calls = buckets ? std::max(1.0, bytes / std::max(table, kBucket + table / 2)) : 1;
    std::ranges::fill(node.seconds, calls * exchanges_.reduction(*step.collective, step.reach, bytes / calls));
    node.nic = calls * exchanges_.occupied().nic;
    node.local = calls * exchanges_.occupied().local;
    node.longest = node.seconds.front();
    return;
  }
  node.nic = exchanges_.occupied().nic;
  node.local = exchanges_.occupied().local;
  node.longest = *std::ranges::max_element(node.seconds);
}

void IterationCost::refresh(Node& node) {
  node.stale = false;
  if (!node.op.seconds.empty() || node.count == 0) return;
  if (node.step.collective) {
    refresh_collective(node);
  } else {
    refresh_compute(node);
  }
}

// A measured rest holds the times of all lookups, and of all updates: whatever the plan, in proportion to their bytes.
void IterationCost::hold_measured() {
  const MeasuredRest& rest = *workload_.dense.measured;
  if (rest.simulates_embeddings) return;
  for (const auto& [kind, time] : {std::pair{Node::Measured::lookup, rest.lookup.time.value},
                                   std::pair{Node::Measured::update, rest.update.time.value}}) {
    double all = 0, count = 0;
    const auto most = [&](const Node& node) {
      double bytes = 0;
      for (const Share::Amount& extra : node.extra) bytes = std::max(bytes, node.all.hbm_bytes + extra.hbm_bytes);
      return bytes;
    };
    for (const Node& node : ops_) {
      if (node.measured != kind || node.count == 0) continue;
      all += most(node);
      ++count;
    }
    for (Node& node : ops_) {
      if (node.measured != kind || node.count == 0) continue;
      node.longest = time * (all > 0 ? most(node) / all : 1 / count);
      std::ranges::fill(node.seconds, node.longest);
    }
  }
}

}  // namespace shardsim::search
