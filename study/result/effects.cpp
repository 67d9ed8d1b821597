#include "study/result/effects.h"

namespace shardsim {
namespace {

constexpr std::array<EffectWords, kEffects> kWords = {{
    {"contention", "contention", "to the estimate no transfer slows another"},
    {"overlap", "overlap", "the estimate adds up what runs at the same time"},
    {"start-ups", "start_ups", "to the estimate collectives and kernels start at once"},
    {"uneven loads", "uneven_loads",
     "the simulation waits for the slowest rank of every collective, the estimate adds up the busiest rank alone"},
    {"ids", "ids", "the estimate does not count the exchange of ids"},
    {"other work", "other_work", "the estimate counts no dense part, and of the passes over vectors few"},
    {"lookups", "lookups", "both count the bytes of lookups, at other rates"},
    {"updates", "updates", "to the estimate the backward pass takes a fixed multiple of the lookup"},
    {"all-to-all", "all_to_all",
     "the estimate sends every byte of an all-to-all through the owner's NIC at its nominal rate, those that stay in "
     "the node too"},
    {"reduce-scatter", "reduce_scatter",
     "the estimate counts the partial sums of row-wise tables against one rank's link, the simulation moves them in "
     "rings over all links of a node"},
    {"all-reduce", "all_reduce", "both reduce the same bytes over the ranks, at other rates"},
}};

}  // namespace

const EffectWords& words(Effect effect) {
  return kWords[static_cast<std::size_t>(effect)];
}

std::vector<std::string> words_of(Effect) {
  std::vector<std::string> keys;
  for (const EffectWords& each : kWords) keys.emplace_back(each.key);
  return keys;
}

EffectTimes effects_between(const torchrec::IterationEstimate& estimate, const RemovedEffects& removed,
                            double simulated_ms) {
  const torchrec::IterationEstimate::Parts& mean = estimate.mean;
  const double waits = removed.without_starts - removed.even.total();
  EffectTimes times{};
  const auto set = [&](Effect effect, double ms) { times[static_cast<std::size_t>(effect)] = ms; };
  set(Effect::contention, simulated_ms - removed.uncontended);
  set(Effect::overlap, removed.uncontended - removed.serial);
  set(Effect::start_ups, removed.serial - removed.without_starts);
  set(Effect::uneven_loads, waits - (estimate.iteration_ms - mean.total()));
  set(Effect::ids, removed.even.ids);
  set(Effect::other_work, removed.even.other - mean.copies - mean.prefetch);
  set(Effect::lookups, removed.even.lookups - mean.lookup);
  set(Effect::updates, removed.even.updates - mean.update);
  set(Effect::all_to_all, removed.even.all_to_all - mean.all_to_all);
  set(Effect::reduce_scatter, removed.even.reduce_scatter - mean.reduce_scatter);
  set(Effect::all_reduce, removed.even.all_reduce - mean.all_reduce);
  return times;
}

}  // namespace shardsim
