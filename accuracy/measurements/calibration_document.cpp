#include <fmt/format.h>

#include <algorithm>

#include "accuracy/measurements/calibration.h"
#include "accuracy/measurements/overhead_fit.h"
#include "base/document/cells.h"
#include "base/text.h"

namespace shardsim {
namespace {

void add_errors(Sheet& sheet, const std::string& rows, const ErrorsBeforeAndAfter& errors, bool quiet) {
  if (errors.after.rows == 0) return;
  sheet.rows.push_back({{rows, std::to_string(errors.after.rows), percent(errors.before.median_abs_pct),
                         percent(errors.after.median_abs_pct), percent(errors.after.p95_abs_pct),
                         signed_percent(errors.after.signed_pct)},
                        quiet});
}

std::string used_rows(const CollectiveCalibration& collective) {
  std::vector<std::string> rows;
  for (const MeasuredRow& row : collective.used)
    rows.push_back(fmt::format("{}x{} {}", row.nodes, row.gpus_per_node, to_text(Bytes{*row.bytes})));
  return join(rows);
}

// "all_reduce in a node: 4 of 18 rows fitted (1x8 1 KiB, ...); not taken, worse on the rows left out".
std::string heading_of(const CollectiveCalibration& one) {
  const std::string rows =
      one.unused.empty() ? fmt::format("all {} rows fitted, each judged by a fit that left it out", one.used.size())
                         : fmt::format("{} of {} rows fitted ({})", one.used.size(),
                                       one.used.size() + one.unused.size(), used_rows(one));
  const std::string fate = one.rates_alone   ? "; efficiencies alone are taken, since with costs of a call smaller "
                                               "calls got worse"
                           : one.is_taken    ? (one.is_worse() ? "; taken by force" : "")
                           : one.is_worse()  ? "; not taken"
                           : one.is_judged() ? "; not taken, since the fit shares constants with one that is worse"
                                             : "; not taken, since no other size judges it";
  return one.name() + ": " + rows + fate;
}

Sheet error_sheet(const Calibration& calibration) {
  Sheet sheet;
  sheet.columns = {{"rows", false}, {"number", true},      {"median % before", true},
                   {"after", true}, {"p95 % after", true}, {"signed % after", true}};
  for (const CollectiveCalibration& one : calibration.collectives) {
    sheet.rows.push_back({{heading_of(one)}});
    add_errors(sheet, "left out, from 1 MiB", one.from_1mib, false);
    add_errors(sheet, "left out, below 1 MiB", one.below_1mib, false);
    add_errors(sheet, "fitted", one.on_used, true);
  }
  return sheet;
}

Document two_tables(Sheet errors, const std::vector<CalibratedValue>& fitted, const std::string& legend,
                    const std::string& left_out) {
  Sheet values;
  values.columns = {{"value", false}, {"before", true}, {"fitted", true}};
  for (const CalibratedValue& value : fitted) values.rows.push_back({{value.path, value.before, value.after}});
  Section words{"", {Paragraph{legend}}};
  if (!left_out.empty()) words.blocks.emplace_back(Paragraph{left_out});
  Document document;
  document.blocks = {std::move(errors), Section{"", {std::move(values)}}, std::move(words)};
  return document;
}

// The collectives of training of which no row was measured within a node, or on several nodes.
std::vector<std::string> unmeasured(const Calibration& calibration, bool across) {
  std::vector<std::string> kinds;
  for (const CollectiveKind kind : {CollectiveKind::all_to_all, CollectiveKind::all_reduce,
                                    CollectiveKind::reduce_scatter, CollectiveKind::all_gather}) {
    const bool measured = std::ranges::any_of(calibration.collectives, [&](const CollectiveCalibration& one) {
      return one.kind == kind && one.across_nodes == across;
    });
    if (!measured) kinds.emplace_back(collective_kind_name(kind));
  }
  return kinds;
}

std::string unmeasured_text(const Calibration& calibration) {
  const std::string within = join(unmeasured(calibration, false)), across = join(unmeasured(calibration, true));
  std::vector<std::string> text;
  if (!within.empty()) text.push_back("within a node: " + within);
  if (!across.empty() && calibration.spec.nodes > 1) text.push_back("across nodes: " + across);
  return text.empty() ? "" : "Not measured, so as before: " + join(text, "; ") + ".";
}

constexpr Bytes kSmallCall{64 << 10};  // calls of an iteration may be as small; a measurement from there on has them

// Calls below the smallest measured size lean on what the cluster had before, the more the smaller they are.
std::string smaller_text(const Calibration& calibration) {
  ClusterSpec spec = calibration.spec;
  std::vector<std::string> texts;
  for (const CollectiveCalibration& one : calibration.collectives) {
    const std::optional<FitRange>& range = overheads_of(spec, one.kind, one.across_nodes).holds_for;
    if (one.is_taken && range && kSmallCall < range->bytes_from)
      texts.push_back(fmt::format("{} below {}", one.name(), to_text(range->bytes_from)));
  }
  if (texts.empty()) return "";
  return "Smaller than all that was measured: " + join(texts, "; ") +
         ". Such calls mix what was fitted with what the cluster had before (at a sixteenth of that size both count "
         "alike), and their intervals are wider. Measure from 1 KiB on.";
}

// "from 9.2 to 6.4 % from 1 MiB"
std::string fall_text(const ErrorsBeforeAndAfter& errors, const std::string& of) {
  if (errors.after.rows == 0) return "";
  return fmt::format("from {} to {} % {}", percent(errors.before.median_abs_pct), percent(errors.after.median_abs_pct),
                     of);
}

// Says how much the calibration improved rows that its fits did not see.
std::string gain_text(const Calibration& calibration) {
  std::vector<std::string> gains;
  for (const CollectiveCalibration& one : calibration.collectives) {
    std::vector<std::string> falls;
    for (const std::string& fall : {fall_text(one.from_1mib, "from 1 MiB"), fall_text(one.below_1mib, "below 1 MiB")})
      if (!fall.empty()) falls.push_back(fall);
    if (one.is_taken && !falls.empty()) gains.push_back(one.name() + " " + join(falls, " and "));
  }
  if (gains.empty()) return "";
  return fmt::format("{} fitted. The median error of rows that a fit did not see goes, of {}.",
                     counted(calibration.values.size(), "value"), join(gains, "; "));
}

}  // namespace

Document calibration_document(const Calibration& calibration) {
  std::string remarks = unmeasured_text(calibration);
  if (const std::string smaller = smaller_text(calibration); !smaller.empty())
    remarks += (remarks.empty() ? "" : " ") + smaller;
  const std::string worse = calibration.worse_text();
  if (!worse.empty()) remarks += (remarks.empty() ? "" : " ") + fmt::format("Worse on rows left out: {}.", worse);
  if (calibration.incomplete > 0)
    remarks +=
        fmt::format("{}{} rows without a size or a time left out.", remarks.empty() ? "" : " ", calibration.incomplete);
  Document document =
      two_tables(error_sheet(calibration), calibration.values,
                 "Errors of predicted compared with measured times: before, of the cluster as it was; after, of fits "
                 "that did not see the row. Start, fill and share of the latency partly explain the same rows, so "
                 "judge them together.",
                 remarks);
  if (const std::string gain = gain_text(calibration); !gain.empty())
    document.blocks.insert(document.blocks.begin(), {Paragraph{gain, Paragraph::Role::summary}, Section{"", {}}});
  return document;
}

Document calibration_document(const ComputeCalibration& calibration) {
  Sheet errors;
  errors.columns = {{"operations", false},     {"fitted", true}, {"checked", true},
                    {"median % before", true}, {"after", true},  {"P90 % after", true}};
  for (const ComputeErrors& one : calibration.errors) {
    const bool any = one.checked > 0;
    const auto number = [&](double value) { return any ? fmt::format("{:.1f}", value) : std::string("-"); };
    errors.rows.push_back({{one.what, std::to_string(one.used), std::to_string(one.checked), number(one.median_before),
                            number(one.median_after), number(one.p90_after)}});
  }
  return two_tables(std::move(errors), calibration.values,
                    "The errors are those of rows that were not used in the fit: shapes whose hash is 0 modulo 3.",
                    calibration.left_out > 0 ? fmt::format("{} rows are left out: warm caches, skewed indices, or "
                                                           "tables whose rows are read more than once on average.",
                                                           calibration.left_out)
                                             : "");
}

}  // namespace shardsim
