#include "study/report/documents/comparison_document.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/document/cells.h"
#include "base/files.h"
#include "base/statistics.h"
#include "base/text.h"
#include "study/report/sheets/result_sheets.h"
#include "validate/comparison/comparison_report.h"

namespace shardsim {
namespace {

constexpr std::size_t kRanksInText = 16;
constexpr std::size_t kRanksInPage = 256;
constexpr double kEqualPct = 0.05;  // what is shown with one decimal and less than this is a zero

using Role = Paragraph::Role;

// "+12.3 ms", "-450 us".
std::string signed_time(double ms) {
  return std::abs(ms) >= 0.1 ? fmt::format("{:+.3g} ms", ms) : fmt::format("{:+.3g} us", ms * 1e3);
}

std::string gib(const std::optional<std::int64_t>& bytes) {
  return bytes ? fixed(static_cast<double>(*bytes) / kGiB, 2) : "-";
}

int places_of(const ComparedTime& time) {
  return decimals_for(std::max(time.predicted_ms, time.observed_ms.median));
}

std::string pair_text(const ComparedTime& time) {
  const int places = places_of(time);
  return fixed(time.predicted_ms, places) + " / " + fixed(time.observed_ms.median, places);
}

std::string worst_text(const TimelineComparison& comparison, std::size_t count) {
  std::vector<std::string> parts;
  for (const ComparedOperation& row : worst_operations(comparison, count))
    parts.push_back(fmt::format("{} {} ({} %)", row.name,
                                signed_time(row.time.predicted_ms - row.time.observed_ms.median),
                                signed_percent(row.time.error_pct())));
  return join(parts);
}

std::string sent_text(const std::optional<ComparedRank::Moved>& sent) {
  if (!sent) return "-";
  const double predicted = static_cast<double>(sent->predicted) / 1e6,
               observed = static_cast<double>(sent->observed) / 1e6;
  const int places = decimals_for(std::max(predicted, observed));
  return fixed(predicted, places) + " / " + fixed(observed, places);
}

// Compute, collectives, exposed time, bytes sent and device memory of each rank; the first `most` of them.
Sheet ranks_sheet(const TimelineComparison& comparison, std::size_t most) {
  Sheet sheet;
  sheet.columns = {{"rank"},    {"compute ms"}, {"collectives ms"}, {"exposed ms"},
                   {"busy ms"}, {"sent MB"},    {"memory GiB"}};
  for (const ComparedRank& rank : comparison.ranks) {
    if (sheet.rows.size() == most) break;
    sheet.rows.push_back(
        {{std::to_string(rank.rank), pair_text(rank.compute), pair_text(rank.comm), pair_text(rank.exposed),
          pair_text(rank.busy), sent_text(rank.sent), gib(rank.predicted_bytes) + " / " + gib(rank.observed_bytes)}});
  }
  return sheet;
}

// Often few ranks of a large world are traced, and nobody knows how the others did.
std::string traced_text(const TimelineComparison& comparison) {
  const std::size_t traced = comparison.ranks.size();
  if (traced >= static_cast<std::size_t>(comparison.world_size)) return "";
  return fmt::format(
      " Only {} of {} ranks {} traces on both sides: the slowest rank, and the one that the others wait for, may be "
      "among the rest.",
      traced, comparison.world_size, traced == 1 ? "has" : "have");
}

// "the prediction is 3.1 % too long", or which of two timelines of the same kind is shorter.
std::string difference_text(const TimelineComparison& comparison) {
  const std::optional<double> error = comparison.iteration.error_pct();
  if (!error) return "the second one has no time to compare with";
  if (std::abs(*error) < kEqualPct) return fmt::format("they are equal within {} %", kEqualPct);
  const std::string percent = fixed(std::abs(*error), 1);
  const bool longer = *error > 0;
  return comparison.is_usual()
             ? fmt::format("the prediction is {} % too {}", percent, longer ? "long" : "short")
             : fmt::format("the {} is {} % {}", comparison.first, percent, longer ? "longer" : "shorter");
}

// In a few sentences: the iteration's error, of how many ranks, the three worst operations, memory.
std::string comparison_summary(const TimelineComparison& comparison) {
  const ComparedTime& iteration = comparison.iteration;
  const int places = places_of(iteration);
  std::string text = fmt::format("{} {} ms, {} {} ms per iteration: {}.", capital(comparison.first),
                                 fixed(iteration.predicted_ms, places), comparison.second,
                                 fixed(iteration.observed_ms.median, places), difference_text(comparison));
  text += traced_text(comparison);
  if (const std::string worst = worst_text(comparison, kWorstOperations); !worst.empty())
    text += fmt::format(" Largest {} in time: {}.", comparison.is_usual() ? "errors" : "differences", worst);
  if (comparison.predicted_bytes && comparison.observed_bytes)
    text +=
        fmt::format(" Memory that the fullest rank holds, without what passes: {} {} GiB, {} {} GiB.", comparison.first,
                    gib(comparison.predicted_bytes), comparison.second, gib(comparison.observed_bytes));
  return text;
}

// For whom collectives wait, on both sides.
Section waits_section(const TimelineComparison& comparison) {
  NoteList list;
  const int places = places_of(comparison.iteration);
  for (const ComparedWait& wait : comparison.waits)
    list.notes.push_back({fmt::format("{} {}; {} {}.", comparison.first, waiting_text(wait.predicted, places),
                                      comparison.second, waiting_text(wait.observed, places)),
                          wait.predicted.name});
  Section section{"Who waits for whom", {}};
  if (!list.notes.empty()) section.blocks.emplace_back(std::move(list));
  return section;
}

// Returns the names of the sides, by the first case; as a rule where there is none.
TimelineComparison sides_of(const ComparisonReport& report) {
  return report.cases.empty() ? TimelineComparison{} : report.cases.front().comparison;
}

std::string legend_of_times(const TimelineComparison& comparison) {
  return fmt::format(
      "Times are sums over an iteration on the slowest rank, including waiting inside collectives; for the second "
      "timeline{2}: median, smallest and largest over the iterations; of whole steps of a profiler and of their ranks, "
      "the middle step in place of the median, as 'import' and 'why --trace' take it. {4} is 100 ({0} - {1}) / {1}, "
      "which is "
      "positive if {3}. Share: of the iteration. Ranks: {0} / {1}.",
      comparison.first, comparison.second, comparison.is_usual() ? " (observed)" : "",
      comparison.is_usual() ? "we predict too long" : "the " + comparison.first + " takes longer",
      comparison.is_usual() ? "An error" : "A difference");
}

Section ranks_section(const TimelineComparison& comparison, Medium medium) {
  const std::size_t most = medium == Medium::page ? kRanksInPage : kRanksInText;
  Section section = table_section("Ranks", "", ranks_sheet(comparison, most));
  section.style = Section::Heading::page_only;
  if (comparison.ranks.size() > most) {
    section.blocks.emplace_back(
        Paragraph{fmt::format("and {} more ranks: see --json", comparison.ranks.size() - most), Role::caption, 2});
  }
  return section;
}

Section notes_section(const std::vector<std::string>& notes, const std::string& lead) {
  Section section{"Notes", {}};
  section.style = Section::Heading::page_only;
  NoteList list;
  list.lead = lead;
  for (const std::string& note : notes) list.notes.push_back({note, ""});
  if (!list.notes.empty()) section.blocks.emplace_back(std::move(list));
  return section;
}

// The timelines take the page's width, the other charts share lines.
std::vector<Section::Block> charts_of(const ComparedCase& item, const std::string& id) {
  std::vector<Section::Block> blocks;
  Section small{"", {}};
  small.side_by_side = true;
  for (Chart& chart : comparison_charts(item, id)) {
    (chart.plot == "compared_timelines" ? blocks : small.blocks).emplace_back(std::move(chart));
  }
  blocks.emplace_back(std::move(small));
  return blocks;
}

// The answer first, charts next, then tables.
Section case_section(const ComparedCase& item, const ComparisonReport& report, Medium medium, const std::string& id) {
  const TimelineComparison& comparison = item.comparison;
  // If there are several cases, one answer to all of them stands above.
  const Paragraph summary{comparison_summary(comparison), report.cases.size() == 1 ? Role::summary : Role::plain};
  const Paragraph origin{observed_on(comparison), Role::origin};
  Section section{comparison.case_name, {summary, origin}};
  section.style = Section::Heading::as_it_is;
  if (medium == Medium::page)
    for (Section::Block& chart : charts_of(item, id)) section.blocks.emplace_back(std::move(chart));
  section.blocks.emplace_back(operations_section(item, report.tolerance_pct, medium));
  section.blocks.emplace_back(ranks_section(comparison, medium));
  if (Section waits = waits_section(comparison); !waits.blocks.empty()) section.blocks.emplace_back(std::move(waits));
  Section conditions = conditions_section(comparison);
  if (!conditions.blocks.empty()) section.blocks.emplace_back(std::move(conditions));
  Section last = notes_section(comparison.notes, "Note: ");
  if (!last.blocks.empty()) section.blocks.emplace_back(std::move(last));
  return section;
}

// Cases of one side only.
std::vector<std::string> without_partner(const ComparisonReport& report) {
  std::vector<std::string> lines;
  const TimelineComparison sides = sides_of(report);
  if (!report.only_predicted.empty()) lines.push_back("Only " + sides.first + ": " + join(report.only_predicted));
  if (!report.only_observed.empty()) lines.push_back("Only " + sides.second + ": " + join(report.only_observed));
  return lines;
}

// The size of a case's difference; one that has nothing to compare with comes before all others.
double size_of_difference(const ComparedCase* item) {
  const std::optional<double> error = item->comparison.iteration.error_pct();
  return error ? std::abs(*error) : INFINITY;
}

std::vector<const ComparedCase*> largest_difference_first(const ComparisonReport& report) {
  std::vector<const ComparedCase*> order;
  for (const ComparedCase& item : report.cases) order.push_back(&item);
  std::stable_sort(order.begin(), order.end(), [](const ComparedCase* a, const ComparedCase* b) {
    return size_of_difference(a) > size_of_difference(b);
  });
  return order;
}

// One answer for several cases: how far off they are as a rule and at most, and where that comes from.
std::string overall_summary(const ComparisonReport& report) {
  const std::vector<const ComparedCase*> order = largest_difference_first(report);
  const TimelineComparison& worst = order.front()->comparison;
  const std::string sides = fmt::format("the {} and the {}", worst.first, worst.second);
  if (size_of_difference(order.front()) < kEqualPct)
    return fmt::format("In all {} cases {} are equal within {} %.", order.size(),
                       worst.is_usual() ? "prediction and observation" : sides, kEqualPct);
  std::vector<double> sizes;
  for (const ComparedCase* item : order)
    if (std::isfinite(size_of_difference(item))) sizes.push_back(size_of_difference(item));
  std::string text = sizes.empty()      ? ""
                     : worst.is_usual() ? fmt::format("In {} cases the prediction is off by {} % in the median.",
                                                      sizes.size(), fixed(median(sizes), 1))
                                        : fmt::format("In {} cases {} differ by {} % in the median.", sizes.size(),
                                                      sides, fixed(median(sizes), 1));
  text += fmt::format(" The largest {} is that of {}: {}", worst.is_usual() ? "error" : "difference", worst.case_name,
                      difference_text(worst));
  const std::string operation = worst_text(worst, 1);
  return text + (operation.empty() ? "." : ", and of its operations differs most " + operation + ".");
}

// How many cases have no partner; their names stand at the end.
std::string lone_cases_text(const ComparisonReport& report) {
  const TimelineComparison sides = sides_of(report);
  std::string text;
  const auto add = [&](const std::vector<std::string>& names, const std::string& side) {
    if (!names.empty()) text += fmt::format(" Only in the {} file: {}.", side, counted(names.size(), "case"));
  };
  add(report.only_predicted, sides.first);
  add(report.only_observed, sides.second);
  return text;
}

// With several cases: one line each.
Section overview(const ComparisonReport& report, Medium medium) {
  const TimelineComparison sides = sides_of(report);
  const std::string difference = sides.is_usual() ? "error" : "difference";
  const bool minor = medium == Medium::page;  // as in the table of operations
  Sheet sheet;
  sheet.columns = {{"case", false, true},
                   {sides.first + " ms", true, false, minor},
                   {sides.second + " ms", true, false, minor},
                   {difference + " %"},
                   {"operation that differs most", false, false, minor}};
  for (const ComparedCase* item : largest_difference_first(report)) {
    const ComparedTime& time = item->comparison.iteration;
    const int places = places_of(time);
    sheet.rows.push_back(
        {{item->comparison.case_name, fixed(time.predicted_ms, places), fixed(time.observed_ms.median, places),
          signed_percent(time.error_pct()), worst_text(item->comparison, 1)}});
  }
  Section section{"Cases", {std::move(sheet)}, fmt::format("largest {} first", difference)};
  return section;
}

Paragraph tolerance_verdict(const ComparisonReport& report) {
  const std::vector<std::string> outside = report.outside();
  const std::string tolerance = shortest(*report.tolerance_pct);
  if (outside.empty())
    return {fmt::format("Everything to which the tolerance applies is within {} %.", tolerance), Role::summary};
  return {fmt::format("Outside {} %: {}.", tolerance, join(outside)), Role::notice};
}

// "Predicted beside observed", by what the two files are.
std::string title_of_sides(const TimelineComparison& comparison) {
  return comparison.is_usual() ? "Predicted beside observed"
                               : fmt::format("The {} beside the {} timeline", comparison.first, comparison.second);
}

}  // namespace

Document comparison_document(const ComparisonReport& report, Medium medium) {
  const bool page = medium == Medium::page, one = report.cases.size() == 1;
  Document document;
  if (page) {
    const TimelineComparison& first = report.cases.front().comparison;
    document.title = title_of_sides(first) + (one ? ": " + first.case_name : "");
    document.origin = fmt::format("{} beside {}, shardsim {}", report.predicted, report.observed, version());
    if (report.tolerance_pct) document.blocks.emplace_back(tolerance_verdict(report));
  }
  if (!one && !report.cases.empty()) {
    document.blocks.emplace_back(Paragraph{overall_summary(report) + lone_cases_text(report), Role::summary});
    document.add(overview(report, medium));
  }
  // A page opens the first of them, so this is the one that the answer speaks of.
  std::vector<const ComparedCase*> cases;
  for (const ComparedCase& item : report.cases) cases.push_back(&item);
  if (page) cases = largest_difference_first(report);
  for (std::size_t i = 0; i < cases.size(); ++i) {
    Section section = case_section(*cases[i], report, medium, fmt::format("case{}", i));
    section.folded = i > 0;
    if (page && one) {  // its name is in the title
      for (Section::Block& block : section.blocks) document.blocks.emplace_back(std::move(block));
      continue;
    }
    document.add(std::move(section));
  }
  document.add({"", {Paragraph{legend_of_times(sides_of(report)), Role::caption}}});
  document.add(notes_section(without_partner(report), ""));
  return document;
}

}  // namespace shardsim
