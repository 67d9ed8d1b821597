// Published iterations of several sources: a table sorted by source, and how far off each source is.

#include "sim/report/published_iterations.h"

#include <algorithm>
#include <cmath>

#include "base/document/cells.h"
#include "base/statistics.h"
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
                  error ? signed_percent(*error) : "", published.fitted ? "fitted" : "predicted"},
                 published.fitted};
  if (page)
    row.cells.push_back(published.note.empty() ? published.source : published.source + " (" + published.note + ")");
  return row;
}

Sheet::Row error_row(const std::string& name, const std::vector<PublishedIteration>& items) {
  std::vector<double> sizes, errors;
  std::size_t fitted = 0;
  for (const PublishedIteration& item : items) {
    fitted += item.comparison->published.fitted ? 1 : 0;
    if (item.comparison->published.fitted || !item.comparison->predicted) continue;
    errors.push_back(*item.comparison->error_pct());
    sizes.push_back(std::abs(errors.back()));
  }
  std::vector<std::string> cells{name, std::to_string(errors.size()), std::to_string(fitted), "-", "-", "-"};
  if (!errors.empty()) {
    cells[3] = fixed(median(sizes), 1);
    cells[4] = signed_percent(median(errors));
    cells[5] = signed_percent(*std::ranges::max_element(errors, {}, [](double error) { return std::abs(error); }));
  }
  return {std::move(cells), errors.empty()};
}

}  // namespace

std::string source_of(const std::string& case_name) {
  return first_parts(case_name, 1);
}

std::string source_group(const std::string& case_name) {
  return first_parts(case_name, 2);
}

std::vector<IterationGroup> published_iterations(const StudyResult& study) {
  std::vector<IterationGroup> groups;
  std::size_t count = 0;
  for (const CaseResult& result : study.cases) {
    for (const Comparison& comparison : result.published) {
      if (comparison.published.quantity != "iteration" || comparison.predicted_at_observed_payload) return {};
      const std::string name = source_group(result.name);
      auto found = std::ranges::find(groups, name, &IterationGroup::name);
      if (found == groups.end()) found = groups.insert(groups.end(), {name, {}});
      found->items.push_back({&result, &comparison});
      ++count;
    }
  }
  if (count < kFewestIterations || groups.size() < 2) return {};
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
  sheet.columns = {{"source", false},       {"predicted"},      {"fitted"},
                   {"median of |error| %"}, {"median error %"}, {"worst %"}};
  std::vector<PublishedIteration> all;
  for (const IterationGroup& group : groups) {
    sheet.rows.push_back(error_row(group.name, group.items));
    all.insert(all.end(), group.items.begin(), group.items.end());
  }
  sheet.rows.push_back(error_row("all", all));
  return sheet;
}

std::string iterations_legend() {
  return "The source is given by the first two parts of a case's name. Role 'fitted': this iteration was used to fit a "
         "constant, so a small error proves little; medians and the worst error leave it out. 'predicted': nothing was "
         "fitted to it.";
}

}  // namespace shardsim
