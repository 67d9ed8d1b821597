#include "tests/plan/torchrec/golden/offload_scaleup.h"

#include <algorithm>

#include "plan/torchrec/search/proposer.h"
#include "tests/plan/torchrec/golden/cache_search.h"

namespace shardsim::golden {

using namespace torchrec;

namespace {

constexpr int kProbes = 16;
constexpr double kWorst = 1e99;                      // in place of a missing rating
constexpr double kFullCache = 0.9999;                // a larger load factor becomes a table in device memory
constexpr double kLowProbe = 0.1, kHighProbe = 0.9;  // load factors that show how a table grows

// Starts where the planner's own proposer does and spends what device memory is left on larger caches; the amount is
// searched for.
class OffloadScaleup : public RatedProposer {
 public:
  OffloadScaleup(const SearchSpace& space, const Topology& topology, const EstimateSettings& settings)
      : space_(space), topology_(topology), settings_(settings) {
    const auto first = make_offload_proposer(space, topology, settings);
    if (const Proposal* start = first->propose()) {
      for (const ShardingOption* option : *start) start_.push_back(*option);
    }
    show(start_);
  }

  void feedback(std::optional<double> rating) override {
    if (!search_) {
      if (!begin(rating)) done_ = true;
    } else if (!rating) {
      search_->shrink_right(static_cast<double>(total_hbm(proposal_) - start_hbm_));
    }
    if (!done_) spend_next(rating);
  }

 private:
  ShardingOption estimate(const ShardingOption& option, ComputeKernel kernel, std::optional<double> load_factor) const {
    TableSpec table = space_.table_of(option);
    table.cache_load_factor = load_factor;
    if (kernel == ComputeKernel::fused) table.sharder_cache_load_factor.reset();
    return estimate_option(table, option.table, option.type, kernel, topology_, settings_);
  }

  ShardingOption as_fused(const ShardingOption& option) const {
    return estimate(option, ComputeKernel::fused, std::nullopt);
  }

  double priority(const ShardingOption& option) const {
    const auto& statistics = space_.table_of(option).cache_statistics;
    return statistics ? statistics->cacheability * statistics->expected_lookups : 0;
  }

  bool scalable(const ShardingOption& option) const {
    if (option.kernel != ComputeKernel::fused_uvm_caching) return false;
    return priority(option) * option.load_factor.value_or(0) > 0;
  }

  // Single precision, as TorchRec's tensors of bytes.
  CacheLine line_of(const ShardingOption& option) const {
    const auto hbm_at = [&](double factor) {
      return estimate(option, ComputeKernel::fused_uvm_caching, factor).total.hbm;
    };
    const std::int64_t low = hbm_at(kLowProbe);
    const float slope = static_cast<float>(hbm_at(kHighProbe) - low) / static_cast<float>(kHighProbe - kLowProbe);
    const float begin = static_cast<float>(low) - slope * static_cast<float>(kLowProbe);
    return {slope, begin, static_cast<double>(as_fused(option).total.hbm), option.load_factor.value_or(0),
            priority(option)};
  }

  // The first feedback tells the memory to spend. False: nothing to search.
  bool begin(std::optional<double> rating) {
    if (!rating) return false;
    start_hbm_ = total_hbm(proposal_);
    std::int64_t device_hbm = 0, fused_hbm = start_hbm_;
    for (const Storage& device : topology_.devices) device_hbm += device.hbm;
    for (std::size_t i = 0; i < start_.size(); ++i) {
      if (!scalable(start_[i])) continue;
      scalable_.push_back(i);
      lines_.push_back(line_of(start_[i]));
      fused_hbm += as_fused(start_[i]).total.hbm - start_[i].total.hbm;
    }
    const std::int64_t budget = std::min(device_hbm, fused_hbm) - start_hbm_;
    if (scalable_.empty()) return false;
    search_.emplace(0, static_cast<double>(budget), kProbes, 42, rating);
    return true;
  }

  void spend_next(std::optional<double> rating) {
    const auto probe = search_->next(rating.value_or(0) == 0 ? kWorst : *rating);
    if (!probe) {
      done_ = true;
      return;
    }
    const std::vector<double> factors =
        spend_cache_budget(lines_, static_cast<double>(static_cast<std::int64_t>(*probe)));
    current_ = start_;
    for (std::size_t i = 0; i < scalable_.size(); ++i) {
      ShardingOption& option = current_[scalable_[i]];
      option =
          factors[i] > kFullCache ? as_fused(option) : estimate(option, ComputeKernel::fused_uvm_caching, factors[i]);
    }
    show(current_);
  }

  void show(const std::vector<ShardingOption>& options) {
    proposal_ = proposal_of(options);
    done_ = options.empty();
  }

  const SearchSpace& space_;
  Topology topology_;
  EstimateSettings settings_;
  std::vector<ShardingOption> start_, current_;
  std::int64_t start_hbm_ = 0;
  std::vector<std::size_t> scalable_;  // positions in start_
  std::vector<CacheLine> lines_;       // of each of them
  std::optional<LuusJaakola> search_;
};

}  // namespace

std::int64_t total_hbm(const Proposal& proposal) {
  std::int64_t hbm = 0;
  for (const ShardingOption* option : proposal) hbm += option->total.hbm;
  return hbm;
}

std::unique_ptr<RatedProposer> make_offload_scaleup_proposer(const SearchSpace& space, const Topology& topology,
                                                             const EstimateSettings& settings) {
  return std::make_unique<OffloadScaleup>(space, topology, settings);
}

}  // namespace shardsim::golden
