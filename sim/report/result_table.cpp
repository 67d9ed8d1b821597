#include "sim/report/result_table.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "sim/report/cross_check_sheets.h"
#include "sim/report/result_sheets.h"
#include "sim/report/summary.h"

namespace shardsim {

namespace {

constexpr int kLeastWidth = 40;
constexpr std::size_t kFewCases = 3;  // shown in full where there are many
constexpr std::size_t kNotes = 4;
constexpr std::size_t kWaitingLines = 6;

// Collects the sections of the page; every line passes `width`.
class Page {
 public:
  Page(int width, bool colour) : width_(std::max(width, kLeastWidth)), colour_(colour) {}

  void title(const std::string& text) { text_ += bold(clipped(text, width_), colour_) + "\n"; }
  void heading(const std::string& text) {
    text_ += "\n";
    title(text);
  }
  void paragraph(const std::string& text, const std::string& indent = "") { text_ += wrapped(text, width_, indent); }
  void sheet(const Sheet& sheet) { text_ += sheet_text(sheet, width_, colour_); }
  std::string take() { return std::move(text_); }

 private:
  int width_;
  bool colour_;
  std::string text_;
};

void write_cases(Page& page, const StudyResult& study) {
  page.title(study.title.empty() ? study.scenario : study.title);
  page.heading("CASES, fastest first");
  page.paragraph(
      "est.: the closed form, without contention. speed: against the slowest case of the workload. GiB: memory of the "
      "fullest GPU by the memory model, peak: simulated, of: its capacity. limited by: the busiest link or unit, and "
      "the % of the time that it is busy.");
  page.sheet(cases_sheet(study));
}

void write_jobs(Page& page, const StudyResult& study) {
  const Sheet sheet = jobs_sheet(study);
  if (sheet.rows.empty()) return;
  page.heading("JOBS SIDE BY SIDE");
  page.paragraph(jobs_legend());
  page.sheet(sheet);
}

void write_cross_check(Page& page, const StudyResult& study) {
  if (study.cross_checks.empty()) return;
  page.heading("TORCHREC'S ESTIMATE BESIDE THE SIMULATION");
  for (const CrossCheck& check : study.cross_checks) {
    page.paragraph(cross_check_text(check, study));
    const std::string missing = missing_text(check);
    if (!missing.empty()) page.paragraph(missing);
  }
  const Sheet sheet = worst_sheet(study);
  if (sheet.rows.empty()) return;
  page.paragraph(worst_legend());
  page.sheet(sheet);
}

void write_collectives(Page& page, const StudyResult& study) {
  const bool many = has_many_cases(study);
  const Sheet sheet = collectives_sheet(study, many ? kFewCases : study.cases.size());
  if (sheet.rows.empty()) return;
  page.heading(many ? fmt::format("COLLECTIVES, per iteration, of the {} fastest cases of each workload", kFewCases)
                    : "COLLECTIVES, per iteration");
  page.paragraph(
      "alone: all calls without contention. in run: as they ran beside the others, on the slowest GPU. exposed: what "
      "neither compute nor a collective that ends later hides, mean over the GPUs. waiting: the part of it before the "
      "last GPU of the group had arrived; the rest is transfer.");
  page.sheet(sheet);
  const std::vector<std::string> lines = waiting_lines(study, many ? kFewCases : study.cases.size());
  for (std::size_t i = 0; i < std::min(lines.size(), kWaitingLines); ++i) page.paragraph(lines[i]);
  if (lines.size() > kWaitingLines)
    page.paragraph(
        fmt::format("{} more collectives wait as long; result.json names whom for.", lines.size() - kWaitingLines));
}

void write_published(Page& page, const StudyResult& study) {
  const Sheet sheet = published_sheet(study, false);
  if (sheet.rows.empty()) return;
  page.heading("PREDICTED BESIDE PUBLISHED");
  page.sheet(sheet);
  page.paragraph(accuracy_text(study));
  page.paragraph(published_legend(study));
}

// Constants of one file and origin share a paragraph: a measured cluster has two dozen of them from a few systems.
void write_constants(Page& page, const StudyResult& study) {
  using Group = std::pair<std::string, std::string>;  // constants, origin
  std::vector<Group> groups;
  std::string owner;
  for (const SourcedValue& constant : study.fitted) {
    const std::string basis = constant.fitted_on.empty() ? "" : "fitted on " + join(constant.fitted_on) + "; ";
    const std::string origin = basis + constant.source;
    const std::string owner_here = constant.path.substr(0, constant.path.find(": ") + 2);
    const bool same = !groups.empty() && groups.back().second == origin && owner_here == owner;
    if (!same) groups.emplace_back(constant.path + ": " + constant.value, origin);
    if (same) groups.back().first += ", " + constant.path.substr(owner.size()) + ": " + constant.value;
    owner = owner_here;
  }
  if (!groups.empty()) page.heading("FITTED CONSTANTS");
  for (const auto& [constants, origin] : groups) {
    page.paragraph(constants, "  ");
    page.paragraph(origin, "      ");
  }
}

void write_notes(Page& page, const StudyResult& study) {
  const auto notes = notes_by_text(study);
  if (!notes.empty()) page.heading("NOTES");
  const std::size_t shown = has_many_cases(study) ? std::min(notes.size(), kNotes) : notes.size();
  for (std::size_t i = 0; i < shown; ++i) page.paragraph(some_names(notes[i].second) + ": " + notes[i].first);
  if (shown < notes.size()) page.paragraph(fmt::format("{} more notes are in the report.", notes.size() - shown));
}

}  // namespace

std::string result_table(const StudyResult& study, int width, bool colour) {
  Page page(width, colour);
  write_cases(page, study);
  write_jobs(page, study);
  write_cross_check(page, study);
  write_collectives(page, study);
  write_published(page, study);
  write_constants(page, study);
  write_notes(page, study);
  return page.take();
}

}  // namespace shardsim
