#include "plan/search/candidates.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "plan/check.h"
#include "plan/memory_need.h"

namespace shardsim::search {
namespace {

constexpr double kSame = 1e-5;  // relative: rounding, and the order of sums

}  // namespace

bool has_room(const Plan& plan, const Workload& workload, const Cluster& cluster, const MemoryModel& memory) {
  try {
    check_memory(plan, workload, cluster, memory);
    return true;
  } catch (const Error& error) {
    if (error.failure() != Failure::infeasible) throw;
    return false;
  }
}

void Candidates::add(const std::string& name, Plan plan, double quick) {
  const auto same = [&](const Candidate& c) { return c.plan == plan && (c.name == name || name == "search"); };
  if (std::ranges::any_of(candidates_, same) || !has_room(plan, workload_, cluster_, context_.memory)) return;
  try {
    const double estimate = context_.host.estimated(plan).value;
    candidates_.push_back({name, std::move(plan), estimate, {}, quick});
  } catch (const Error& error) {
    if (error.failure() != Failure::input) throw;
    refuse(name, error);
  }
}

void Candidates::refuse(const std::string& name, const Error& error) {
  if (std::ranges::find(refusals_, name, &Refusal::first) == refusals_.end()) refusals_.emplace_back(name, error);
}

void Candidates::throw_if_refused() const {
  if (!refusals_.empty()) throw Error(refusals_.front().second);
}

void Candidates::simulate(Candidate& candidate) const {
  if (candidate.simulated) return;
  if (!context_.host.answers(PlannerHost::Question::trial)) {
    candidate.simulated = candidate.estimate;
    return;
  }
  const PlanTrial trial = context_.host.tried(candidate.plan);
  const std::int64_t by_model = std::ranges::max(memory_per_rank(candidate.plan, workload_, cluster_, context_.memory));
  const MemoryNeed need{by_model, trial.peak_bytes, context_.memory.counts_buffers()};
  candidate.simulated = trial.time.value;
  candidate.over = bytes_over(need, cluster_.memory_per_rank().count);
}

// The fastest of those that were simulated and fit at their peak; null: none.
const Candidate* Candidates::fastest() const {
  const Candidate* best = nullptr;
  for (const Candidate& each : candidates_) {
    if (!each.simulated || each.over > 0) continue;
    if (best == nullptr || *each.simulated < *best->simulated) best = &each;
  }
  return best;
}

// Transfers that slow each other make an iteration longer than its closed form, never shorter: what is slower in closed
// form than the best is simulated needs no simulation.
void Candidates::judge() {
  if (candidates_.empty()) throw_if_refused();
  std::ranges::stable_sort(candidates_, {}, &Candidate::estimate);
  for (Candidate& each : candidates_) {
    const Candidate* const best = fastest();
    if (best != nullptr && each.estimate >= *best->simulated) break;
    simulate(each);
  }
  simulate_near_ties();
}

// Plans of its own that are nearly as fast; of the starts, which bound what is chosen, those that are as fast.
void Candidates::simulate_near_ties() {
  const Candidate* const best = fastest();
  if (best == nullptr) return;
  const double near = *best->simulated * (1 + kNearTie), same = *best->simulated * (1 + kSame);
  for (Candidate& each : candidates_) {
    if (each.estimate < (each.name == "search" ? near : same)) simulate(each);
  }
}

std::int64_t Candidates::lacking_bytes() const {
  const Candidate* const best = fastest();
  std::int64_t least = 0;
  for (const Candidate& each : candidates_) {
    const bool faster = each.simulated && (best == nullptr || *each.simulated < *best->simulated);
    if (faster && each.over > 0 && (least == 0 || each.over < least)) least = each.over;
  }
  return least;
}

void Candidates::throw_over_peak(const Place& place) const {
  const auto nearest = std::ranges::min_element(
      candidates_, {}, [](const Candidate& each) { return std::pair(!each.simulated, each.over); });
  throw Error(
      Failure::infeasible, place,
      fmt::format("every plan that fits by the memory model needs more at its simulated peak than a GPU has, at "
                  "least {} more",
                  to_text(Bytes{nearest->over})),
      "Take more GPUs, GPUs with more memory, or a smaller batch");
}

const Candidate* Candidates::best_start() const {
  const Candidate* best = nullptr;
  for (const Candidate& each : candidates_) {
    if (each.name == "search" || each.over > 0) continue;
    if (best == nullptr || each.seconds() < best->seconds()) best = &each;
  }
  return best;
}

// Bytes that the fullest GPU lacks; what is left beyond half of its memory is worth nothing.
std::int64_t Candidates::lack_of_room(const Candidate& each) const {
  return std::max(each.over, -cluster_.memory_per_rank().count / 2);
}

// Among plans that are nearly as fast, the one that leaves more memory is better, then the faster one. Equally fast
// ones, whose time something other than the plan decides (the host, for example), are compared by their work.
bool Candidates::is_better(const Candidate& a, const Candidate& b) const {
  if (lack_of_room(a) != lack_of_room(b)) return lack_of_room(a) < lack_of_room(b);
  if (std::abs(*a.simulated - *b.simulated) > kSame * *b.simulated) return *a.simulated < *b.simulated;
  return a.quick < b.quick;
}

const Candidate* Candidates::best() const {
  const Candidate* best = fastest();
  if (best == nullptr) return nullptr;
  const Candidate* const start = best_start();
  double limit = *best->simulated * (1 + kNearTie);
  if (start != nullptr) limit = std::min(limit, std::max(start->seconds(), *best->simulated) * (1 + kSame));
  for (const Candidate& each : candidates_) {
    if (each.simulated && *each.simulated <= limit && each.over <= 0 && is_better(each, *best)) best = &each;
  }
  return best;
}

std::int64_t Candidates::simulations() const {
  return std::ranges::count_if(candidates_, [](const Candidate& each) { return each.simulated.has_value(); });
}

void Candidates::tell(const Candidate& best, std::int64_t evaluations, std::int64_t simulations) const {
  const PlannerHost& host = context_.host;
  host.state("cost_ms", best.estimate * 1e3);
  host.state("evaluations", static_cast<double>(evaluations));
  host.state("simulations", static_cast<double>(simulations));
  for (const Candidate& each : candidates_)
    if (each.name != "search") host.state("start_" + each.name + "_ms", each.seconds() * 1e3);
  host.say(fmt::format(
      "compared {} by a quick estimate, and simulated {} of them: an iteration of the chosen one takes {:.3f} ms "
      "({:.3f} ms by the estimate, in which operations do not share links or GPUs)",
      counted(evaluations, "plan"), counted(simulations, "plan"), *best.simulated * 1e3, best.estimate * 1e3));
  if (const Candidate* const start = best_start(); start != nullptr)
    host.say(fmt::format(
        "the fastest of the plans that the search began with: {}, {:.3f} ms{}", start->name, start->seconds() * 1e3,
        start->simulated ? "" : " by the estimate, which others beat so far that it was not simulated"));
  for (const auto& [name, error] : refusals_)
    if (name != "search")
      host.say(fmt::format("not begun with the plan of {}, which cannot be simulated: {}", name, error.what()));
}

}  // namespace shardsim::search
