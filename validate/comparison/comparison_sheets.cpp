#include "validate/comparison/comparison_sheets.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>

#include "base/text.h"
#include "sim/report/numbers.h"
#include "sim/report/result_sheets.h"
#include "validate/comparison/comparison_report.h"
#include "validate/measurements/error_text.h"

namespace shardsim {
namespace {

constexpr std::size_t kRanksInText = 16;

// What rounds to zero has no sign.
std::string error_text(const std::optional<double>& error) {
  return error && std::abs(*error) < 0.05 ? "0.0" : signed_percent(error);
}

// "+12.3 ms", "-450 us".
std::string signed_time(double ms) {
  return std::abs(ms) >= 0.1 ? fmt::format("{:+.3g} ms", ms) : fmt::format("{:+.3g} us", ms * 1e3);
}

std::string gib(const std::optional<std::int64_t>& bytes) {
  return bytes ? fixed(static_cast<double>(*bytes) / kGiB, 2) : "-";
}

std::string capital(std::string text) {
  if (!text.empty()) text[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(text[0])));
  return text;
}

std::string verdict(const ComparedTime& time, bool judged, double tolerance_pct) {
  if (!judged) return "";
  const std::optional<double> error = time.error_pct();
  return error && std::abs(*error) <= tolerance_pct ? "within" : "OUTSIDE";
}

// Fills the columns of operations_sheet.
class OperationRows {
 public:
  OperationRows(const TimelineComparison& comparison, const std::optional<double>& tolerance)
      : comparison_(comparison), tolerance_(tolerance) {
    const ComparedTime& iteration = comparison.iteration;
    places_ = decimals_for(std::max(iteration.predicted_ms, iteration.observed_ms.max));
    sheet_.columns = {{"per iteration", false},
                      {comparison.first + " ms"},
                      {comparison.second + " ms"},
                      {"min"},
                      {"max"},
                      {"error %"},
                      {"share %"}};
    if (tolerance) sheet_.columns.push_back({"tolerance", false});
  }

  Sheet sheet() {
    add("iteration", comparison_.iteration, std::nullopt, true);
    add("exposed communication", comparison_.exposed, exposed_share(), false);
    if (comparison_.waiting.predicted_ms > 0 || comparison_.waiting.observed_ms.max > 0)
      add("  waiting for ranks", comparison_.waiting, std::nullopt, false);
    heading("by class");
    for (const ComparedOperation& row : comparison_.classes) add(row, true);
    heading("by operation");
    for (const ComparedOperation& row : comparison_.operations) add(row, false);
    if (!comparison_.alone.empty()) heading("on one side only");
    for (const LoneOperation& lone : comparison_.alone) add(lone);
    return std::move(sheet_);
  }

 private:
  void heading(const std::string& text) { sheet_.rows.push_back({{text}}); }

  double exposed_share() const {
    const ComparedTime& iteration = comparison_.iteration;
    return iteration.observed_ms.median > 0 ? comparison_.exposed.observed_ms.median / iteration.observed_ms.median : 0;
  }

  void add(std::vector<std::string> cells, const std::string& verdict_text, bool quiet) {
    if (tolerance_) cells.push_back(verdict_text);
    sheet_.rows.push_back({std::move(cells), quiet});
  }

  void add(const std::string& name, const ComparedTime& time, const std::optional<double>& share, bool judged) {
    add({name, fixed(time.predicted_ms, places_), fixed(time.observed_ms.median, places_),
         fixed(time.observed_ms.min, places_), fixed(time.observed_ms.max, places_), error_text(time.error_pct()),
         share ? fixed(100 * *share, 1) : ""},
        tolerance_ ? verdict(time, judged, *tolerance_) : "", share && *share < kJudgedShare);
  }

  void add(const ComparedOperation& row, bool is_class) {
    const std::string name = row.matched_by_class ? row.name + ", other names" : row.name;
    add("  " + name, row.time, row.share, is_judged(row, is_class));
  }

  void add(const LoneOperation& lone) {
    const std::string ms = fixed(lone.ms, places_);
    add({fmt::format("  {} ({})", lone.name, lone.op_class), lone.predicted ? ms : "-", lone.predicted ? "-" : ms, "",
         "", "", fixed(100 * lone.share, 1)},
        lone.share >= kJudgedShare ? "OUTSIDE" : "", lone.share < kJudgedShare);
  }

  const TimelineComparison& comparison_;
  const std::optional<double>& tolerance_;
  int places_ = 3;
  Sheet sheet_;
};

std::string pair_text(const ComparedTime& time) {
  const int places = decimals_for(std::max(time.predicted_ms, time.observed_ms.median));
  return fixed(time.predicted_ms, places) + " / " + fixed(time.observed_ms.median, places);
}

std::string worst_text(const TimelineComparison& comparison) {
  std::vector<std::string> parts;
  for (const ComparedOperation& row : worst_operations(comparison, kWorstOperations))
    parts.push_back(fmt::format("{} {} ({} %)", row.name,
                                signed_time(row.time.predicted_ms - row.time.observed_ms.median),
                                error_text(row.time.error_pct())));
  return join(parts);
}

std::string lines(const std::vector<std::string>& texts, const std::string& head, int width) {
  std::string result;
  for (const std::string& text : texts) result += wrapped(head + text, width, "");
  return result;
}

std::string case_text(const TimelineComparison& comparison, const std::optional<double>& tolerance, int width,
                      bool colour) {
  std::string text = bold(clipped(comparison.case_name, width), colour) + "\n";
  text += wrapped(observed_on(comparison), width, "") + "\n";
  text += sheet_text(operations_sheet(comparison, tolerance), width, colour) + "\n";
  text += sheet_text(ranks_sheet(comparison, kRanksInText), width, colour);
  if (comparison.ranks.size() > kRanksInText)
    text += fmt::format("  and {} more ranks: see --json\n", comparison.ranks.size() - kRanksInText);
  text += "\n" + wrapped(comparison_summary(comparison), width, "");
  return text + lines(comparison.notes, "Note: ", width) + "\n";
}

}  // namespace

Sheet operations_sheet(const TimelineComparison& comparison, const std::optional<double>& tolerance_pct) {
  return OperationRows(comparison, tolerance_pct).sheet();
}

Sheet ranks_sheet(const TimelineComparison& comparison, std::size_t most) {
  Sheet sheet;
  sheet.columns = {{"rank"}, {"compute ms"}, {"collectives ms"}, {"exposed ms"}, {"busy ms"}, {"memory GiB"}};
  for (const ComparedRank& rank : comparison.ranks) {
    if (sheet.rows.size() == most) break;
    sheet.rows.push_back(
        {{std::to_string(rank.rank), pair_text(rank.compute), pair_text(rank.comm), pair_text(rank.exposed),
          pair_text(rank.busy), gib(rank.predicted_bytes) + " / " + gib(rank.observed_bytes)}});
  }
  return sheet;
}

std::string comparison_summary(const TimelineComparison& comparison) {
  const ComparedTime& iteration = comparison.iteration;
  const int places = decimals_for(std::max(iteration.predicted_ms, iteration.observed_ms.median));
  std::string text = fmt::format("{} {} ms, {} {} ms per iteration: {} %.", capital(comparison.first),
                                 fixed(iteration.predicted_ms, places), comparison.second,
                                 fixed(iteration.observed_ms.median, places), error_text(iteration.error_pct()));
  if (const std::string worst = worst_text(comparison); !worst.empty())
    text += " Largest errors in time: " + worst + ".";
  if (comparison.predicted_bytes && comparison.observed_bytes)
    text += fmt::format(" Memory of the fullest rank: {} {} GiB, {} {} GiB.", comparison.first,
                        gib(comparison.predicted_bytes), comparison.second, gib(comparison.observed_bytes));
  for (const ComparedWait& wait : comparison.waits)
    text += fmt::format(" {}: {} {}; {} {}.", wait.predicted.name, comparison.first,
                        waiting_text(wait.predicted, places), comparison.second, waiting_text(wait.observed, places));
  return text;
}

std::string observed_on(const TimelineComparison& comparison) {
  const Timeline::Measured& measured = comparison.measured;
  std::string text =
      fmt::format("{} rank{}, {} iteration{} {}", comparison.world_size, comparison.world_size == 1 ? "" : "s",
                  comparison.iterations, comparison.iterations == 1 ? "" : "s",
                  comparison.second == "observed" ? "observed" : "in the " + comparison.second + " timeline");
  if (!measured.device.empty()) text += " on " + measured.device;
  if (!measured.hosts.empty()) text += " (" + join(measured.hosts) + ")";
  if (!measured.transport.empty()) text += ", " + measured.transport;
  if (!measured.nccl.empty()) text += ", NCCL " + measured.nccl;
  if (!measured.cuda.empty()) text += ", CUDA " + measured.cuda;
  if (!measured.driver.empty()) text += ", driver " + measured.driver;
  if (!comparison.complete) text += ", INCOMPLETE";
  return text;
}

std::string comparison_legend() {
  return "Times are sums over an iteration on the slowest rank, waiting inside collectives included; of the second "
         "timeline (observed, as a rule): median, least and most over the iterations. An error is 100 (predicted - "
         "observed) / observed, above 0 where we predict too long. Share: of the iteration. Ranks: predicted / "
         "observed.";
}

std::string comparison_text(const ComparisonReport& report, int width, bool colour) {
  std::string text = wrapped(comparison_legend(), width, "") + "\n";
  for (const ComparedCase& item : report.cases) text += case_text(item.comparison, report.tolerance_pct, width, colour);
  if (!report.only_predicted.empty()) text += wrapped("Only predicted: " + join(report.only_predicted), width, "");
  if (!report.only_observed.empty()) text += wrapped("Only observed: " + join(report.only_observed), width, "");
  return text;
}

}  // namespace shardsim
