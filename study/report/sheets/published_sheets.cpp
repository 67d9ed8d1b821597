#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/document/cells.h"
#include "base/text.h"
#include "study/report/case_groups.h"
#include "study/report/sheets/published_iterations.h"
#include "study/report/sheets/result_sheets.h"

namespace shardsim {

namespace {

std::string error_cell(const std::optional<double>& error) {
  return error ? signed_percent(error) : "";
}

Sheet::Row published_row(const Comparison& comparison) {
  const Published& published = comparison.published;
  const auto shown = [&](std::optional<double> value) { return value ? in_unit(*value, published.unit) : ""; };
  return {{published.quantity, published.unit, in_unit(published.value, published.unit),
           comparison.predicted ? shown(comparison.predicted) : "none", error_cell(comparison.error_pct()),
           shown(comparison.predicted_at_observed_payload), error_cell(comparison.error_at_observed_payload_pct()),
           role_text(comparison) + (published.derived ? ", derived" : "")},
          !published.judged()};
}

bool has_observed_payload(const StudyResult& study) {
  return any_comparison(study, [](const Comparison& one) { return one.predicted_at_observed_payload.has_value(); });
}

bool has_derived(const StudyResult& study) {
  return any_comparison(study, [](const Comparison& one) { return one.published.derived; });
}

// Those of which `wanted` says so, each below its case.
template <class Wanted>
Sheet published_sheet(const StudyResult& study, bool with_source, Wanted wanted) {
  Sheet sheet;
  sheet.columns = {{"quantity", false}, {"unit", false}, {"published"}, {"planned"},
                   {"error %"},         {"observed"},    {"error %"},   {"role", false}};
  if (with_source) sheet.columns.push_back({"source", false});
  for (const CaseResult* item : all_cases(study, study.cases.size())) {
    if (std::ranges::none_of(item->published, wanted)) continue;
    sheet.rows.push_back({{item->name}, false});
    for (const Comparison& comparison : item->published) {
      if (!wanted(comparison)) continue;
      sheet.rows.push_back(published_row(comparison));
      if (with_source) sheet.rows.back().cells.push_back(source_text(comparison.published));
    }
  }
  return sheet;
}

std::string published_legend(const StudyResult& study) {
  std::string text = roles_legend(study) + " 'planned': predicted with the bytes that follow from the plan.";
  if (has_observed_payload(study)) {
    text += " 'observed': predicted with the bytes that the authors counted, so that only the error in time remains.";
  }
  if (has_derived(study)) text += " 'derived': computed from other published numbers.";
  return text;
}

// Iterations of several sources: a line each, and how far off each source is.
Section iterations_section(const StudyResult& study, const std::vector<IterationGroup>& groups, Medium medium) {
  const bool page = medium == Medium::page;
  Section section = table_section("Predicted beside published", "", published_iterations_sheet(groups, medium));
  if (page) section.remark = "every iteration, by source";
  const std::string accuracy = page ? "" : accuracy_text(study);
  if (!accuracy.empty()) section.blocks.emplace_back(Paragraph{accuracy});
  section.blocks.emplace_back(Paragraph{iterations_legend(study), Paragraph::Role::caption});
  section.blocks.emplace_back(source_errors_sheet(groups));
  Sheet others = published_sheet(study, page, [](const Comparison& one) { return !of_sources(one); });
  if (!others.rows.empty()) section.blocks.emplace_back(std::move(others));
  return section;
}

struct TimeError {
  double percent = 0;  // absolute
  bool seen_before = false;
  std::string quantity, name;
};

// The fairest error of each published time that nothing was fitted to: at the observed payload where it is known.
std::vector<TimeError> prediction_errors(const StudyResult& study) {
  std::vector<TimeError> errors;
  for (const CaseResult& item : study.cases) {
    for (const Comparison& comparison : item.published) {
      if (!comparison.published.judged() || comparison.published.unit != "ms") continue;
      std::optional<double> error = comparison.error_at_observed_payload_pct();
      if (!error) error = comparison.error_pct();
      if (error)
        errors.push_back(
            {std::abs(*error), comparison.published.seen_before, comparison.published.quantity, item.name});
    }
  }
  std::stable_sort(errors.begin(), errors.end(),
                   [](const TimeError& a, const TimeError& b) { return a.percent < b.percent; });
  return errors;
}

std::string seen_text(const std::vector<TimeError>& errors) {
  const auto seen = static_cast<std::size_t>(std::ranges::count(errors, true, &TimeError::seen_before));
  if (seen == 0) return "";
  return seen == errors.size() ? " (all were known before)" : fmt::format(" ({} were known before)", seen);
}

}  // namespace

std::string accuracy_text(const StudyResult& study) {
  const std::vector<TimeError> errors = prediction_errors(study);
  if (errors.empty()) return "";
  const TimeError& worst = errors.back();
  if (errors.size() == 1) {
    return fmt::format("The one published time to which nothing was fitted ({} of {}) is predicted within {:.1f} %.",
                       worst.quantity, worst.name, worst.percent);
  }
  return fmt::format(
      "Of the {} published times to which no constant was fitted{}, half are predicted within {:.1f} %; the "
      "largest error is {:.1f} % ({} of {}).",
      with_thousands(static_cast<std::int64_t>(errors.size())), seen_text(errors),
      errors[(errors.size() - 1) / 2].percent, worst.percent, worst.quantity, worst.name);
}

Section published_section(const StudyResult& study, Medium medium) {
  if (const auto groups = published_iterations(study); !groups.empty())
    return iterations_section(study, groups, medium);
  const bool page = medium == Medium::page;
  Section section = table_section("Predicted beside published", "",
                                  published_sheet(study, page, [](const Comparison&) { return true; }));
  if (section.blocks.empty()) return section;
  if (page) section.remark = "every number";
  const std::string accuracy = page ? "" : accuracy_text(study);  // a page has it above its chart
  if (!accuracy.empty()) section.blocks.emplace_back(Paragraph{accuracy});
  section.blocks.emplace_back(Paragraph{published_legend(study), Paragraph::Role::caption});
  return section;
}

}  // namespace shardsim
