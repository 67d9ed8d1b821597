#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "accuracy/emulated/campaign.h"
#include "accuracy/emulated/emulated_cluster.h"
#include "base/document/document.h"
#include "base/judgement/pair.h"
#include "base/units.h"
#include "program/program.h"
#include "program/timeline/timeline.h"
#include "validate/execute/run/execute.h"

namespace shardsim {

// One item of the campaign, predicted and observed.
struct CampaignRow {
  std::string item;  // "a2a_direct 128 KiB"
  JudgedAs judged = JudgedAs::reported;
  double predicted_ms = 0;
  std::vector<double> observed_ms;  // every repeat

  double least_ms() const;  // of the repeats: noise only lengthens
  double error() const { return percent_off(predicted_ms, least_ms()) / 100; }
  bool holds() const { return band_of(judged).holds(error()); }
};

// The rate that one tier carries beyond its start-up: bytes over time between two sizes.
struct TierRate {
  std::string tier;    // "fast", "NIC"
  Bandwidth expected;  // payload_rate() of its shaper
  Bandwidth observed;
  double tolerance = 0;  // relative
  bool holds() const;
};

// The work of the machine's processors between two looks, as shares of their time: an emulated cluster on a busy
// machine is slower than its shapers.
struct CpuShares {
  double busy = 0;
  double stolen = 0;   // by other virtual machines
  double softirq = 0;  // carrying packets
};

// The findings of validate-emulated.
struct CampaignReport {
  std::string unfit;      // why it could not be judged here; then the rest is empty but for the rates
  EmulatedShape shape;    // as it was built
  double rate_share = 1;  // of the rates that were asked for, see CarriedRates
  int straggler = -1;     // rank
  std::vector<TierRate> rates;
  std::vector<CampaignRow> plain, slowed;  // slowed: with the straggler's NIC at half rate
  CpuShares cpu;
  double setup_s = 0, wall_s = 0;

  bool holds() const;
};

// One row for the item, and one more for each stream of an item with two (their ends are only reported).
std::vector<CampaignRow> rows_of(const CampaignItem& item, const Timeline& predicted, const Timeline& observed);

bool all_hold(const std::vector<CampaignRow>& rows);

// Returns the observed rates, from the items of guard_items() in their order.
std::vector<TierRate> tier_rates(const std::vector<CampaignItem>& items, const std::vector<Timeline>& observed,
                                 const EmulatedShape& shape);

// Returns why nothing can be judged with such rates; "" when it can.
std::string unfit_text(const std::vector<TierRate>& rates);

// The sentence that every report of the emulated cluster carries.
inline constexpr const char* kWhatItProves =
    "A pass validates the flow-and-port layer, the schedule code and the Timeline comparison, nothing else: not NCCL, "
    "kernel launches, GPU copy engines, RoCE congestion control, or anything below about 0.1 ms.";

Document report_document(const CampaignReport& report);
std::string report_json(const CampaignReport& report);  // schema shardsim.emulated/1

// Items as the ranks ran them, each `repeats` times: one Timeline per item, its iterations are the repeats.
using ObserveItems = std::function<std::vector<Timeline>(const std::vector<CampaignItem>& items, int repeats)>;

// Checks what the links really carry; a second time when that is not what the shapers say. Returns the last rates.
std::vector<TierRate> guarded_rates(const EmulatedShape& shape, const ObserveItems& observe);

// The largest of 1, 1/2 and 1/4 of the shape's rates that the links really carry on this machine. Timers that are late
// and busy processors keep fast links below their rates; the slower the links, the less that matters, and what a slower
// cluster proves is the same. Each share is tried on a cluster in a process of its own, so before the caller builds
// one. A share that is not carried at each of three looks is carried at the edge, and the guard of the cluster that is
// built next may find that it is not: the smaller share is taken then. The least has two looks, and needs one.
struct CarriedRates {
  double share = 1;
  std::string unfit;  // why none of them is carried; "" when one is
};
CarriedRates carried_rates(const EmulatedShape& shape, const std::function<bool()>& interrupted);

// Returns a report's words on a share below 1, with the rates as they are; "" for 1.
std::string rate_share_text(double share, const EmulatedShape& shape);

// Three repeats of every item, five more of those outside their band; `predicted` in the order of the items.
std::vector<CampaignRow> judged_rows(const std::vector<CampaignItem>& items, const std::vector<Timeline>& predicted,
                                     const ObserveItems& observe);

// The Programs that the iterations of a run execute in turn (IterationPrograms), and how many iterations are kept where
// that is not what the options say.
struct ProgramRun {
  std::vector<Program> programs;
  std::optional<int> iterations{};
};

// Runs them on the ranks of the cluster, one run after the other, with one rendezvous for all. One Timeline each.
// Errors: Failure::run with what the first rank said that failed; Interrupted.
std::vector<Timeline> observe_programs(EmulatedCluster& cluster, const std::vector<ProgramRun>& runs,
                                       const ExecuteOptions& options, const std::function<bool()>& interrupted);

// The same for items of the campaign: each repeat starts alone and synchronised, after one that is not kept. Refers to
// the cluster.
ObserveItems observer_of(EmulatedCluster& cluster, const std::function<bool()>& interrupted);

// The whole round without a scenario: finds out which rates this machine carries, predicts the campaign, builds the
// emulated cluster in this process, checks its rates point to point, runs the campaign, again with the NIC of rank 2 at
// half rate, and lays both side by side.
// Errors: Failure::run when a rank fails; Interrupted.
CampaignReport validate_emulated(const EmulatedShape& shape, const std::function<bool()>& interrupted);

}  // namespace shardsim
