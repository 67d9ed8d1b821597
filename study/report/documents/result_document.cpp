#include "study/report/documents/result_document.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "study/report/case_groups.h"
#include "study/report/charts/chart_data.h"
#include "study/report/page.h"
#include "study/report/sheets/fitted_constants.h"
#include "study/report/sheets/how_sure.h"
#include "study/report/sheets/planner_sheets.h"
#include "study/report/sheets/published_iterations.h"
#include "study/report/sheets/result_sheets.h"

namespace shardsim {

namespace {

constexpr std::size_t kFewNotes = 4;  // which a terminal shows where there are many cases

using Role = Paragraph::Role;

Section cases_section(const StudyResult& study, Medium medium) {
  Section section = table_section("Cases", cases_legend(study, medium), cases_sheet(study, medium));
  section.remark = "fastest first";
  return section;
}

// The head of the table stands even when nothing was simulated.
Section cases_on_terminal(const StudyResult& study, Medium medium) {
  if (is_large_comparison(study)) {
    return {"Cases", {Paragraph{fmt::format("{} cases are in the report and in result.json.", study.cases.size())}}};
  }
  Section section = cases_section(study, medium);
  if (medium == Medium::screen) section.style = Section::Heading::page_only;  // right below the title
  if (section.blocks.empty())
    section.blocks = {cases_sheet(study, medium), Paragraph{cases_legend(study, medium), Role::caption}};
  return section;
}

Section notes_section(const StudyResult& study, Medium medium) {
  Section section{"Notes", {}};
  const auto notes = notes_by_text(study);
  if (notes.empty()) return section;
  const bool many = has_many_cases(study);
  const std::size_t shown = many && medium == Medium::terminal ? std::min(notes.size(), kFewNotes) : notes.size();
  NoteList list;
  for (std::size_t i = 0; i < shown; ++i) list.notes.push_back({notes[i].first, some_names(notes[i].second)});
  section.blocks.emplace_back(std::move(list));
  if (shown < notes.size()) {
    section.blocks.emplace_back(Paragraph{fmt::format("{} more notes are in the report.", notes.size() - shown)});
  }
  section.folded = many;
  return section;
}

Section cross_check_on_terminal(const StudyResult& study) {
  Section section{"TorchRec's estimate beside the simulation", {}};
  for (const CrossCheck& check : study.cross_checks) {
    section.blocks.emplace_back(Paragraph{cross_check_text(check, study)});
    const std::string missing = missing_text(check);
    if (!missing.empty()) section.blocks.emplace_back(Paragraph{missing});
  }
  const Sheet worst = worst_sheet(study);
  if (worst.rows.empty()) return section;
  section.blocks.emplace_back(worst);
  section.blocks.emplace_back(Paragraph{worst_legend()});
  return section;
}

// The axes on which what is drawn spans more than a decade, so that most marks would lie on each other.
std::vector<std::string> wide_axes(const DataSet& points) {
  std::vector<std::string> wide;
  for (const auto& [axis, column] : {std::pair{"x", 1}, {"y", 2}}) {
    double least = 1e300, most = 0;
    for (const auto& row : points.rows) {
      const double value = std::get<double>(row[static_cast<std::size_t>(column)]);
      least = std::min(least, value);
      most = std::max(most, value);
    }
    if (least > 0 && most > 10 * least) wide.emplace_back(axis);
  }
  return wide;
}

std::string axes_text(const std::vector<std::string>& logarithmic) {
  if (logarithmic.empty()) return "";
  if (logarithmic.size() == 2) return " Both axes are logarithmic.";
  return logarithmic.front() == "x" ? " The axis of estimates is logarithmic." : " The simulated axis is logarithmic.";
}

Chart cross_check_chart(const CrossCheck& check, const StudyResult& study, std::size_t number) {
  const std::string missing = missing_text(check);
  DataSet points = cross_check_points(check, study);
  std::vector<std::string> wide = wide_axes(points);
  return {fmt::format("cross-check-{}", number),
          "estimate_vs_simulated",
          "TorchRec's estimate beside the simulation",
          cross_check_text(check, study) + (missing.empty() ? "" : " " + missing) +
              " On the dashed line both are equal; what matters is the order. The numbers are those of the plans that "
              "are explained below." +
              axes_text(wide),
          false,
          {std::move(points)},
          std::move(wide)};
}

void add_cross_check(Document& page, const StudyResult& study) {
  NoteList explanations;
  explanations.numbered = true;
  std::size_t number = 0;
  for (const CrossCheck& check : study.cross_checks) {
    page.blocks.emplace_back(cross_check_chart(check, study, ++number));
    for (const ExplainedPlan& plan : check.worst) explanations.notes.push_back({explanation(plan, study), ""});
  }
  if (!explanations.notes.empty()) {
    page.add({"The largest errors of the estimate, and the effects that it misses", {std::move(explanations)}});
  }
  page.add(effects_section(study));
}

// The small charts of one kind stand side by side under one heading.
void add_charts(Document& page, std::vector<Chart> charts) {
  Section small{"Memory against time when the most popular rows are replicated (FlexShard, Figure 5)", {}};
  small.side_by_side = true;
  for (Chart& chart : charts) {
    (chart.plot == "figure5" ? small.blocks : page.blocks).emplace_back(std::move(chart));
  }
  if (small.blocks.empty()) return;
  small.blocks.insert(small.blocks.begin(),
                      Paragraph{"Change compared with all rows row-wise, per GPU and iteration, by the paper's closed "
                                "formula. Further left is faster, further down needs less memory. A: least memory, B: "
                                "no extra memory, C: least time, D: all rows replicated.",
                                Role::caption});
  page.add(std::move(small));
}

void add_planners(Document& document, const StudyResult& study, Medium medium) {
  document.add(planner_totals_section(study));
  if (medium == Medium::page) {
    document.add(planner_matrix_section(study));
    for (Chart& chart : planner_charts(study)) document.blocks.emplace_back(std::move(chart));
  }
  document.add(planners_section(study, medium));
}

constexpr std::size_t kFewCases = 8;  // a screen that is full of more cases has no room for their doubts

// The answer in sentences: which planner, where no table says it, how far off the predictions are where that is what
// was asked for, why the fastest case takes its time, and what nobody should overlook.
std::vector<Paragraph> answers(const StudyResult& study, bool judged, Medium medium) {
  std::vector<Paragraph> paragraphs;
  const auto add = [&](const std::string& text, Role role) {
    if (!text.empty()) paragraphs.push_back({text, role});
  };
  if (study.comparisons.size() > 1) add(planners_sentence(study), Role::summary);
  if (judged) add(accuracy_text(study), Role::summary);
  add(why_sentence_of_fastest(study), Role::summary);
  if (!judged && study.comparisons.size() == 1) add(choice_sentence(study), Role::summary);  // no column tells it
  if (medium == Medium::screen && !judged) add(order_sentence(study, true), Role::summary);  // a page tells of all
  if (medium == Medium::screen) add(slower_hardware_warning(study), Role::notice);           // elsewhere a note does
  if (medium == Medium::screen && !judged) add(evidence_sentence(study), Role::notice);      // elsewhere How sure does
  if (medium == Medium::screen) add(levers_text(study), Role::summary);     // elsewhere they stand beside their case
  if (medium == Medium::screen) add(modules_warning(study), Role::notice);  // elsewhere a note does
  if (medium == Medium::screen && !judged && study.cases.size() <= kFewCases)
    add(doubt_sentence(study), Role::summary);  // elsewhere How sure says it
  add(memory_warning(study), Role::notice);
  add(medium == Medium::screen ? short_torchrec_warning(study) : torchrec_warning(study), Role::notice);
  return paragraphs;
}

Document terminal_document(const StudyResult& study, const std::string& title, Medium medium) {
  Document document{title, "", {}};
  const bool judged = !published_iterations(study).empty();
  if (judged) document.add(published_section(study, Medium::terminal));
  add_planners(document, study, Medium::terminal);
  document.add(cases_on_terminal(study, medium));
  Section answer{"Answer", {}, {}, Section::Heading::page_only};
  for (Paragraph& paragraph : answers(study, judged, medium)) answer.blocks.emplace_back(std::move(paragraph));
  document.add(std::move(answer));
  // A full screen names it among what it leaves out; the legend of the whole table has it.
  if (medium == Medium::screen && !judged && study.cases.size() > kFewCases)
    if (std::string doubt = doubt_sentence(study); !doubt.empty())
      document.add(Section{"Question marks", {Paragraph{std::move(doubt), Role::caption}}});
  document.add(how_sure_section(study, Medium::terminal));
  document.add(drawn_section(study, Medium::terminal));
  document.add(jobs_section(study));
  document.add(host_section(study, Medium::terminal));
  document.add(cross_check_on_terminal(study));
  if (!is_large_comparison(study)) document.add(collectives_section(study, Medium::terminal));
  if (has_dense_operators(study)) {
    document.add(operator_classes_section(study));
    document.add(dense_operators_section(study));
  }
  if (!judged) document.add(published_section(study, Medium::terminal));
  document.add(constants_section(study, Medium::terminal));
  document.add(notes_section(study, Medium::terminal));
  return document;
}

// The bar of parts stands beside the plans, before all other charts.
void add_breakdown(Document& page, std::vector<Chart>& charts) {
  const auto breakdown = std::ranges::find(charts, "breakdown", &Chart::id);
  if (breakdown == charts.end()) return;
  page.blocks.emplace_back(std::move(*breakdown));
  charts.erase(breakdown);
}

// Where the answer is a plan, its loads, memory and timeline come before how well other times were predicted.
void put_published_last(std::vector<Chart>& charts) {
  std::stable_partition(charts.begin(), charts.end(),
                        [](const Chart& chart) { return chart.id != "comparison" && chart.id != "error"; });
}

// The answer, and the plans beside each other; planners have a table of their own.
void add_first_screen(Document& page, const StudyResult& study) {
  page.blocks.emplace_back(Paragraph{summary_text(study), Role::summary});
  if (const std::string why = why_sentence_of_fastest(study); !why.empty())
    page.blocks.emplace_back(Paragraph{why, Role::summary});
  if (const std::string levers = levers_text(study); !levers.empty())
    page.blocks.emplace_back(Paragraph{levers, Role::summary});
  for (const std::string& warning : {slower_hardware_warning(study), modules_warning(study)})
    if (!warning.empty()) page.blocks.emplace_back(Paragraph{warning, Role::notice});
  if (!study.comparisons.empty() || !published_iterations(study).empty()) return;
  const std::string order = order_sentence(study);
  page.add(table_section(
      "Plans",
      std::string(
          "peak GiB: memory of the fullest GPU at its simulated peak; free: what is left of it, in GiB. busiest: what "
          "is busy for the largest part of the iteration, and for how many % of it. 1st faster: the chance that the "
          "fastest plan of the workload is really faster than this one. The other tables explain the rest. ") +
          doubt_sentence(study) + (order.empty() ? "" : " " + order),
      cases_sheet(study, Medium::screen)));
}

Document page_document(const StudyResult& study, const std::string& title) {
  Document document{title, fmt::format("{}, seed {}, shardsim {}", study.scenario, study.seed, study.version), {}};
  add_first_screen(document, study);
  std::vector<Chart> charts = charts_of(study);
  if (study.comparisons.empty()) add_breakdown(document, charts);
  if (published_iterations(study).empty()) put_published_last(charts);
  for (const std::string& warning : {torchrec_warning(study), memory_warning(study)})
    if (!warning.empty()) document.blocks.emplace_back(Paragraph{warning, Role::notice});
  add_planners(document, study, Medium::page);
  add_cross_check(document, study);
  if (std::optional<Chart> matrix = plan_matrix_chart(study)) document.blocks.emplace_back(std::move(*matrix));
  add_charts(document, std::move(charts));
  document.add(cases_section(study, Medium::page));
  document.add(how_sure_section(study, Medium::page));
  document.add(why_section(study));
  document.add(drawn_section(study, Medium::page));
  document.add(jobs_section(study));
  document.add(host_section(study, Medium::page));
  document.add(collectives_section(study, Medium::page));
  if (has_dense_operators(study)) {
    document.add(operator_classes_section(study));
    document.add(dense_operators_section(study));
  }
  document.add(load_classes_section(study));
  document.add(memory_section(study));
  document.add(published_section(study, Medium::page));
  document.add(constants_section(study, Medium::page));
  document.add(notes_section(study, Medium::page));
  return document;
}

}  // namespace

Document result_document(const StudyResult& study, Medium medium) {
  const std::string& title = study.title.empty() ? study.scenario : study.title;
  return medium == Medium::page ? page_document(study, title) : terminal_document(study, title, medium);
}

std::string result_table(const StudyResult& study, int width, bool colour) {
  return document_text(result_document(study, Medium::terminal), width, colour);
}

std::string report_html(const StudyResult& study) {
  return page_html(result_document(study, Medium::page));
}

}  // namespace shardsim
