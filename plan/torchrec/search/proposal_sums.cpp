#include <algorithm>

#include "plan/torchrec/search/evaluator.h"

namespace shardsim::torchrec {
namespace {

constexpr double kSlack = 1e-6;  // sums carried over many proposals drift in their last bits

std::uint64_t mixed(std::uint64_t key) {
  return (key ^ (key >> 29)) * 0x9e3779b97f4a7c15ULL;
}

// One kind of memory: what shards that are not evenly spread can take.
struct Demand {
  double shard = 0;    // largest shard, or share of a group per rank
  double on_rank = 0;  // sum of what each option can put on one rank of a host
  double all = 0;      // sum over all shards

  void add(const ShardingOption& option, std::int64_t largest, std::int64_t total, int per_host) {
    const bool rows = option.type == ShardingType::table_row_wise;
    const double share = static_cast<double>(total) / per_host + 1;
    shard = std::max({shard, static_cast<double>(largest), option.partition == PartitionBy::host ? share : 0});
    on_rank += static_cast<double>(rows ? largest : total);
    all += static_cast<double>(total);
  }

  // How many hosts, or ranks, can be too full for one more shard.
  double full_hosts(double room) const { return room > shard ? on_rank / (room - shard) : 1e300; }
  double full_ranks(double room) const { return room > shard ? all / (room - shard) : 1e300; }
};

}  // namespace

ProposalSums::ProposalSums(const Topology& topology)
    : world_(topology.world_size), hosts_(topology.hosts()), per_host_(topology.local_world_size) {
  smallest_ = topology.devices.front();
  for (const Storage& device : topology.devices) {
    available_ += device;
    largest_ = {std::max(largest_.hbm, device.hbm), std::max(largest_.ddr, device.ddr)};
    smallest_ = {std::min(smallest_.hbm, device.hbm), std::min(smallest_.ddr, device.ddr)};
  }
}

// A shard larger than any rank, or a group larger than any host.
bool ProposalSums::hopeless(const ShardingOption& option) const {
  if (!option.largest.fits_in(largest_)) return true;
  if (option.partition != PartitionBy::host) return false;
  const double ranks = per_host_;
  return static_cast<double>(option.total.hbm) > ranks * static_cast<double>(largest_.hbm) ||
         static_cast<double>(option.total.ddr) > ranks * static_cast<double>(largest_.ddr);
}

// sign: 1 to add the option, -1 to take it off.
void ProposalSums::count(const ShardingOption& option, int sign) {
  const auto wrapped = static_cast<std::uint64_t>(sign);
  const auto change = [sign](Storage& sum, const Storage& by) { sign > 0 ? sum += by : sum -= by; };
  key_.sum += wrapped * option.key;
  key_.mixed += wrapped * mixed(option.key);
  change(total_, option.total);
  all_ms_ += sign * option.sum;
  hopeless_ += hopeless(option) ? sign : 0;
  if (option.partition != PartitionBy::uniform) return;
  change(even_most_, option.largest);
  if (option.even_perf) even_ms_ += sign * option.depth;
}

void ProposalSums::follow(const Proposal& proposal) {
  if (last_.size() != proposal.size()) {
    for (const ShardingOption* option : last_) count(*option, -1);
    last_.clear();
    even_ms_ = all_ms_ = 0;
    for (const ShardingOption* option : proposal) count(*option, 1);
    last_ = proposal;
    return;
  }
  for (std::size_t i = 0; i < proposal.size(); ++i) {
    if (last_[i] == proposal[i]) continue;
    count(*last_[i], -1);
    count(*proposal[i], 1);
    last_[i] = proposal[i];
  }
}

bool ProposalSums::surely_too_large() const {
  return hopeless_ > 0 || total_.hbm > available_.hbm || total_.ddr > available_.ddr;
}

bool ProposalSums::surely_fits(const Proposal& proposal) const {
  if (!even_most_.fits_in(smallest_)) return false;
  Demand hbm, ddr;
  for (const ShardingOption* option : proposal) {
    if (option->partition == PartitionBy::uniform) {
      if (option->shards != world_) return false;
      continue;
    }
    const bool one_per_rank = option->type != ShardingType::table_row_wise || option->shards == per_host_;
    if (option->partition == PartitionBy::multi_host || !one_per_rank) return false;
    hbm.add(*option, option->largest.hbm, option->total.hbm, per_host_);
    ddr.add(*option, option->largest.ddr, option->total.ddr, per_host_);
  }
  const auto hbm_room = static_cast<double>(smallest_.hbm - even_most_.hbm);
  const auto ddr_room = static_cast<double>(smallest_.ddr - even_most_.ddr);
  return hbm.full_hosts(hbm_room) + ddr.full_hosts(ddr_room) < hosts_ &&
         hbm.full_ranks(hbm_room) + ddr.full_ranks(ddr_room) < world_;
}

double ProposalSums::least_rating(const Proposal& proposal) const {
  double slowest = 0;
  for (const ShardingOption* option : proposal) {
    if (option->partition != PartitionBy::uniform) slowest = std::max(slowest, option->depth);
  }
  return std::max(all_ms_ / world_, even_ms_ + slowest) * (1 - kSlack);
}

}  // namespace shardsim::torchrec
