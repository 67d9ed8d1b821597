#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "accuracy/emulated/emulated_scenario.h"
#include "base/statistics.h"
#include "base/text.h"
#include "validate/execute/run/observed_timeline.h"

namespace shardsim {
namespace {

// True for the links that one collective uses: those inside nodes, those between them.
struct Tiers {
  bool fast = false, nic = false;
  bool meets(const Tiers& other) const { return (fast && other.fast) || (nic && other.nic); }
};

Tiers tiers_of(const Timeline& timeline, int op) {
  Tiers tiers;
  const auto group = timeline.groups.find(timeline.ops[op].group);
  if (group == timeline.groups.end()) return {true, true};
  for (const std::vector<int>& ranks : group->second) {
    for (const int rank : ranks) {
      const bool same_node = rank / timeline.ranks_per_node == ranks.front() / timeline.ranks_per_node;
      if (!same_node) tiers.nic = true;
      if (same_node && rank != ranks.front()) tiers.fast = true;
    }
  }
  return tiers;
}

bool overlap(const Span& a, const Span& b) {
  return a.rank == b.rank && a.start_us < b.end_us && b.start_us < a.end_us;
}

// The operations of the Timeline that the row stands for.
bool shares_its_tier(const Timeline& timeline, const ComparedOperation& row) {
  for (std::size_t op = 0; op < timeline.ops.size(); ++op) {
    const auto& names = row.predicted_names;
    const bool one_of_them = std::find(names.begin(), names.end(), timeline.ops[op].name) != names.end();
    if (one_of_them && shares_its_tier(timeline, static_cast<int>(op))) return true;
  }
  return false;
}

// Returns the time of all calls of that name, without waiting: what a rank that is late makes of a small collective is
// no transfer.
double alone_ms(const Timeline& timeline, const std::string& name) {
  double ms = 0;
  for (const auto& op : timeline.ops) ms += op.name == name ? op.alone_us * 1e-3 : 0;
  return ms;
}

}  // namespace

bool shares_its_tier(const Timeline& timeline, int op) {
  const Tiers tiers = tiers_of(timeline, op);
  for (const Span& span : timeline.spans) {
    if (span.op != op) continue;
    for (const Span& other : timeline.spans) {
      if (other.op == op || !is_communication(timeline.ops[other.op].op_class)) continue;
      if (overlap(span, other) && tiers.meets(tiers_of(timeline, other.op))) return true;
    }
  }
  return false;
}

CaseMiss miss_of(const TimelineComparison& comparison) {
  CaseMiss miss{comparison.case_name, comparison.iteration, comparison.iteration.error_pct(), {}};
  const auto look = [&](const ComparedRank& rank, const char* what, const std::optional<ComparedRank::Moved>& bytes) {
    if (!bytes) return;
    if (!miss.worst_bytes || std::abs(bytes->error_pct()) > std::abs(miss.worst_bytes->bytes.error_pct()))
      miss.worst_bytes = {rank.rank, what, *bytes};
  };
  for (const ComparedRank& rank : comparison.ranks) {
    look(rank, "sent", rank.sent);
    look(rank, "received", rank.received);
  }
  return miss;
}

std::vector<CaseMiss> ScenarioRound::cases() const {
  std::vector<CaseMiss> misses;
  for (const ComparedCase& item : report.cases) misses.push_back(miss_of(item.comparison));
  return misses;
}

std::string bytes_text(const CaseMiss::OfRank& worst) {
  const auto mb = [](std::int64_t bytes) { return static_cast<double>(bytes) / 1e6; };
  return fmt::format("{:.3f} MB predicted, {:.3f} MB {} by rank {}, {:+.2f} %", mb(worst.bytes.predicted),
                     mb(worst.bytes.observed), worst.what, worst.rank, worst.bytes.error_pct());
}

DrawnTimes drawn_times(const DrawnFigures& drawn, const Timeline& observed) {
  std::vector<double> ms = iteration_times_us(observed, Pace::back_to_back);
  for (double& each : ms) each *= 1e-3;
  return {drawn.iteration_ms, iteration_spread(ms), ms.size()};
}

namespace {

// Judges one figure after the other.
class CaseJudge {
 public:
  void time(const std::string& what, double predicted_ms, const std::string& which, double observed_ms,
            double tolerance_pct) {
    const std::optional<double> error = ComparedTime{predicted_ms, {}}.error_against(observed_ms);
    take(fmt::format("{}: {:.1f} ms predicted, {:.1f} ms {}, {:+.1f} %", what, predicted_ms, observed_ms, which,
                     error.value_or(0)),
         error, tolerance_pct);
  }

  void bytes(const CaseMiss& miss) {
    if (!miss.worst_bytes) return;
    take("bytes per iteration, the rank that is off most: " + bytes_text(*miss.worst_bytes),
         miss.worst_bytes->bytes.error_pct(), kBytesTolerancePct);
  }

  Verdict verdict;

 private:
  void take(const std::string& text, std::optional<double> error, double tolerance_pct) {
    const std::string allowed = fmt::format("{} ({} % allowed)", text, shortest(tolerance_pct));
    const bool holds = error && std::abs(*error) <= tolerance_pct;
    verdict.judged.push_back(allowed + (holds ? "  ok" : "  OUTSIDE"));
    if (!holds) verdict.outside.push_back(allowed);
  }
};

}  // namespace

Verdict verdict_of(const TimelineComparison& comparison, const Timeline& predicted, double rate_share) {
  const double judged_from_ms = kJudgedCollectiveMs / rate_share;
  CaseJudge judge;
  const ComparedTime& iteration = comparison.iteration;
  judge.time("iteration", iteration.predicted_ms, "median observed", iteration.observed_ms.median,
             kIterationTolerancePct);
  judge.bytes(miss_of(comparison));
  for (const ComparedOperation& row : comparison.operations) {
    if (!is_communication(row.op_class) || alone_ms(predicted, row.name) < judged_from_ms) continue;
    if (!shares_its_tier(predicted, row))
      judge.time(row.name, row.time.predicted_ms, "least observed", row.time.observed_ms.min, kCollectiveTolerancePct);
  }
  for (const LoneOperation& lone : comparison.alone) {
    if (lone.ms >= judged_from_ms)
      judge.verdict.outside.push_back(lone.name + (lone.predicted ? " only predicted" : " only observed"));
  }
  return judge.verdict;
}

// Collectives are as long as their iteration makes them, and the prediction keeps another one than is the least.
Verdict verdict_of(const TimelineComparison& comparison, const DrawnTimes& drawn) {
  CaseJudge judge;
  judge.time("iteration", drawn.predicted.median, "median observed", drawn.observed.median, kIterationTolerancePct);
  judge.bytes(miss_of(comparison));
  if (drawn.iterations >= kLeastForTail)
    judge.time("95th percentile", drawn.predicted.p95, "observed", drawn.observed.p95, kTailTolerancePct);
  return judge.verdict;
}

}  // namespace shardsim
