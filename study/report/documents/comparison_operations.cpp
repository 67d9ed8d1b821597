#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/document/cells.h"
#include "study/report/documents/comparison_document.h"

namespace shardsim {
namespace {

std::string verdict(const ComparedTime& time, bool judged, double tolerance_pct) {
  if (!judged) return "";
  const std::optional<double> error = time.error_pct();
  return error && std::abs(*error) <= tolerance_pct ? "within" : "OUTSIDE";
}

// Iteration, exposed communication, classes and operations of one case; with a tolerance a last column says what it
// bounds and whether it holds.
class OperationRows {
 public:
  OperationRows(const TimelineComparison& comparison, const std::optional<double>& tolerance, Medium medium)
      : comparison_(comparison), tolerance_(tolerance) {
    const bool minor = medium == Medium::page;  // of a narrow one, where both times give way to how far apart they are
    const ComparedTime& iteration = comparison.iteration;
    places_ = decimals_for(std::max(iteration.predicted_ms, iteration.observed_ms.max));
    sheet_.columns = {{"per iteration", false, true},
                      {comparison.first + " ms", true, false, minor},
                      {comparison.second + " ms", true, false, minor},
                      {"min", true, false, true},
                      {"max", true, false, true},
                      {comparison.is_usual() ? "error %" : "difference %"},
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
    if (has_no_range()) leave_out_range();
    return std::move(sheet_);
  }

 private:
  static constexpr std::size_t kMedian = 2, kMin = 3, kMax = 4;  // columns

  void heading(const std::string& text) { sheet_.rows.push_back({{text}}); }

  // Of a single iteration the smallest time and the largest one repeat the median.
  bool has_no_range() const {
    return std::ranges::all_of(sheet_.rows, [](const Sheet::Row& row) {
      const auto is_no_other = [&](std::size_t column) {
        return row.cells[column].empty() || row.cells[column] == row.cells[kMedian];
      };
      return row.cells.size() <= kMax || (is_no_other(kMin) && is_no_other(kMax));
    });
  }
  void leave_out_range() {
    const auto erase_from = [](auto& cells) { cells.erase(cells.begin() + kMin, cells.begin() + kMax + 1); };
    erase_from(sheet_.columns);
    for (Sheet::Row& row : sheet_.rows)
      if (row.cells.size() > kMax) erase_from(row.cells);
  }

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
         fixed(time.observed_ms.min, places_), fixed(time.observed_ms.max, places_), signed_percent(time.error_pct()),
         share ? fixed(100 * *share, 1) : ""},
        tolerance_ ? verdict(time, judged, *tolerance_) : "", share && *share < kJudgedShare);
  }

  void add(const ComparedOperation& row, bool is_class) {
    add("  " + row.name, row.time, row.share, is_judged(row, is_class));
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

}  // namespace

Section operations_section(const ComparedCase& item, const std::optional<double>& tolerance, Medium medium) {
  Section section{"Iteration, classes, operations", {OperationRows(item.comparison, tolerance, medium).sheet()}};
  section.style = Section::Heading::page_only;
  return section;
}

}  // namespace shardsim
