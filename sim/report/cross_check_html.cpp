#include "sim/report/cross_check_html.h"

#include <fmt/format.h>

#include "sim/report/chart_data.h"
#include "sim/report/cross_check_sheets.h"
#include "sim/report/html.h"
#include "sim/report/page.h"

namespace shardsim {
namespace {

Chart chart_of(const CrossCheck& check, const StudyResult& study, std::size_t number) {
  const std::string missing = missing_text(check);
  return {fmt::format("cross-check-{}", number),
          "estimate_vs_simulated",
          "TorchRec's estimate beside the simulation",
          cross_check_text(check, study) + (missing.empty() ? "" : " " + missing) +
              " On the dashed line both are equal; what counts is the order. Numbers are those of the plans explained "
              "below.",
          false,
          {cross_check_points(check, study)}};
}

std::string explanations_html(const StudyResult& study) {
  std::string items;
  for (const CrossCheck& check : study.cross_checks) {
    for (const ExplainedPlan& plan : check.worst) {
      items += "<li>" + escape_html(explanation(plan, study)) + "</li>\n";
    }
  }
  return items.empty() ? "" : "<ol>\n" + items + "</ol>\n";
}

}  // namespace

std::string cross_check_html(const StudyResult& study, bool drawn) {
  std::string html;
  std::size_t number = 0;
  for (const CrossCheck& check : study.cross_checks) html += chart_html(chart_of(check, study, ++number), drawn);
  if (html.empty()) return html;
  const std::string sentences = explanations_html(study);
  if (!sentences.empty()) {
    html += "<section><h2>Where the estimate errs most, and which term is missing</h2>\n" + sentences + "</section>\n";
  }
  return html + table_section("What the estimate lacks, term by term", effects_legend(), effects_sheet(study));
}

}  // namespace shardsim
