// Published iterations of several sources: a table sorted by source, and how far off each source is.

#include "study/report/sheets/published_iterations.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/document/cells.h"
#include "base/judgement/pair.h"
#include "base/text.h"

namespace shardsim {
namespace {

constexpr std::size_t kFewestIterations = 6;

std::string first_parts(const std::string& name, std::size_t count) {
  std::vector<std::string> parts = split(name, '/');
  if (parts.size() > 1) parts.pop_back();  // the last part tells a case from others of its source
  parts.resize(std::min(parts.size(), count));
  return join(parts, "/");
}

Sheet::Row row_of(const PublishedIteration& item, bool page) {
  const Published& published = item.comparison->published;
  const std::optional<double> error = item.comparison->error_pct();
  Sheet::Row row{{item.result->name, fixed(published.value, 3),
                  item.comparison->predicted ? fixed(*item.comparison->predicted, 3) : "none",
                  error ? signed_percent(*error) : "", role_text(*item.comparison)},
                 !published.judged()};
  if (page) row.cells.push_back(source_text(published));
  return row;
}

bool has_role(const StudyResult& study, PublishedRole role) {
  return any_comparison(study, [role](const Comparison& one) { return one.published.role == role; });
}

// The columns in which a published iteration counts.
enum Column { kNeverSeen, kSeenBefore, kPartlyFitted, kFitted, kColumns };

Column column_of(const Published& published) {
  if (published.role == PublishedRole::fitted) return kFitted;
  if (published.role == PublishedRole::partly_fitted) return kPartlyFitted;
  return published.seen_before ? kSeenBefore : kNeverSeen;
}

Sheet::Row error_row(const std::string& name, const std::vector<PublishedIteration>& items) {
  std::vector<Pair> judged;
  std::array<int, kColumns> counts{};
  for (const PublishedIteration& item : items) {
    ++counts[column_of(item.comparison->published)];
    if (!item.comparison->published.judged() || !item.comparison->predicted) continue;
    judged.push_back({*item.comparison->predicted, item.comparison->published.value});
  }
  std::vector<std::string> cells{name};
  for (const int count : counts) cells.push_back(std::to_string(count));
  const ErrorFigures errors = error_figures(judged);
  cells.push_back(percent(errors.median_abs_pct));
  cells.push_back(signed_percent(errors.signed_median_pct));
  cells.push_back(signed_percent(errors.signed_worst_pct));
  return {std::move(cells), judged.empty()};
}

}  // namespace

std::string role_text(const Comparison& comparison) {
  switch (comparison.published.role) {
    case PublishedRole::fitted:
      return "fitted";
    case PublishedRole::partly_fitted:
      return fmt::format("{:.0f} % fitted", comparison.fitted_share_pct.value_or(100));
    case PublishedRole::predicted:
      return comparison.published.seen_before ? "predicted, seen before" : "predicted";
  }
  return "";
}

std::string roles_legend(const StudyResult& study) {
  std::string text = "Role 'predicted': nothing was fitted to the number.";
  if (any_comparison(study, [](const Comparison& one) { return one.published.seen_before; }))
    text += " 'seen before': nothing was fitted to it, but it was known when the models were made.";
  if (has_role(study, PublishedRole::partly_fitted))
    text += " '30 % fitted': so much of the predicted time has constants that were chosen with the number in view.";
  if (has_role(study, PublishedRole::fitted))
    text += " 'fitted': a constant or a distribution was fitted to it, so a small error proves little.";
  return text;
}

bool of_sources(const Comparison& comparison) {
  return comparison.published.quantity == "iteration" && !comparison.predicted_at_observed_payload;
}

std::string source_text(const Published& published) {
  return published.note.empty() ? published.source : published.source + " (" + published.note + ")";
}

std::string source_of(const std::string& case_name) {
  return first_parts(case_name, 1);
}

std::string source_group(const std::string& case_name) {
  return first_parts(case_name, 2);
}

std::vector<IterationGroup> published_iterations(const StudyResult& study) {
  std::vector<IterationGroup> groups;
  std::size_t count = 0, others = 0;
  for (const CaseResult& result : study.cases) {
    for (const Comparison& comparison : result.published) {
      if (!of_sources(comparison)) {
        ++others;
        continue;
      }
      const std::string name = source_group(result.name);
      auto found = std::ranges::find(groups, name, &IterationGroup::name);
      if (found == groups.end()) found = groups.insert(groups.end(), {name, {}});
      found->items.push_back({&result, &comparison});
      ++count;
    }
  }
  if (count < kFewestIterations || groups.size() < 2 || others > count / 10) return {};
  return groups;
}

Sheet published_iterations_sheet(const std::vector<IterationGroup>& groups, Medium medium) {
  const bool page = medium == Medium::page;
  Sheet sheet;
  sheet.columns = {{"case", false, true}, {"published ms"}, {"predicted ms"}, {"error %"}, {"role", false}};
  if (page) sheet.columns.push_back({"source", false});
  for (const IterationGroup& group : groups) {
    sheet.rows.push_back({{group.name}, false});
    for (const PublishedIteration& item : group.items) sheet.rows.push_back(row_of(item, page));
  }
  return sheet;
}

Sheet source_errors_sheet(const std::vector<IterationGroup>& groups) {
  Sheet sheet;
  sheet.columns = {{"source", false}, {"never seen"},          {"seen before"},    {"partly fitted"},
                   {"fitted"},        {"median of |error| %"}, {"median error %"}, {"worst %"}};
  std::vector<PublishedIteration> all;
  for (const IterationGroup& group : groups) {
    sheet.rows.push_back(error_row(group.name, group.items));
    all.insert(all.end(), group.items.begin(), group.items.end());
  }
  sheet.rows.push_back(error_row("all", all));
  return sheet;
}

std::string iterations_legend(const StudyResult& study) {
  return "The source is given by the first two parts of a case's name. " + roles_legend(study) +
         " Medians and the worst error are of those that are predicted, seen before or not.";
}

}  // namespace shardsim
