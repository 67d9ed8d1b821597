#include <fmt/format.h>

#include <filesystem>

#include "base/files.h"
#include "base/text.h"
#include "base/workers.h"
#include "cli/commands/all.h"
#include "cli/commands/shared.h"
#include "study/report/documents/comparison_document.h"
#include "study/report/page.h"

namespace shardsim {
namespace {

TimelineSource observed_source(const Arguments& given) {
  const auto folder = given.value("observed-kineto");
  const bool has_file = given.positional().size() == 2;
  if (folder && has_file)
    throw input_error(Arguments::place("observed-kineto"), "beside " + excerpt(given.positional()[1]),
                      "Give one observation: a file, or --observed-kineto DIR");
  if (!folder && !has_file)
    throw input_error({"arguments"}, "the observation is missing",
                      "Usage: " + compare_command().usage() + ", with OBSERVED or --observed-kineto DIR");
  return folder ? read_kineto_source(*folder) : read_timeline_source(given.positional()[1]);
}

// Before anything is read: a name that cannot be written is no surprise after minutes.
std::optional<std::filesystem::path> page_path(const Arguments& given) {
  const auto path = given.value("output");
  if (!path) return std::nullopt;
  if (*path == "-" || path->empty() || is_folder(*path))
    throw input_error(Arguments::place("output"), excerpt(*path) + " cannot be the file of a page",
                      "Name a file, e.g. -o report.html");
  if (!path->ends_with(".html") && !path->ends_with(".htm") && !given.has("force"))
    throw input_error(Arguments::place("output"), excerpt(*path) + " does not end in .html",
                      "Name the page FILE.html, or add --force");
  refuse_read_file(*path, given.positional());
  return *path;
}

// 0 or 4, and a line on stderr that says why.
int verdict(const ComparisonReport& report) {
  const std::vector<std::string> outside = report.outside();
  if (outside.empty()) return 0;
  constexpr std::ptrdiff_t kNamed = 6;
  std::vector<std::string> named(outside.begin(), outside.begin() + std::min(std::ssize(outside), kNamed));
  if (std::ssize(outside) > kNamed) named.push_back(fmt::format("and {} more", std::ssize(outside) - kNamed));
  say(fmt::format("error: outside the tolerance of {} %: {}", shortest(*report.tolerance_pct), join(named)));
  return kOutsideTolerance;
}

int compare(const Arguments& given, const Terminal& terminal) {
  const Progress progress = progress_of(given, "comparing");
  const std::optional<double> most = tolerance(given);
  const std::optional<std::filesystem::path> page = page_path(given);
  if (page) check_result(*page, result_writer(given));
  const TimelineSource observed = observed_source(given);
  ComparisonReport report =
      compare_sources(read_timeline_source(given.positional()[0]), observed, given.values("case"));
  report.tolerance_pct = most;
  throw_if_interrupted(terminal.interrupted);
  if (page) write_result(*page, result_writer(given), page_html(comparison_document(report, Medium::page)));
  print_result(given.has("json") ? comparison_json(report)
                                 : shown_text(comparison_document(report, Medium::terminal), given, terminal));
  if (page) say(fmt::format("report: {}", page->string()));
  return verdict(report);
}

}  // namespace

Command compare_command() {
  return {
      .name = "shardsim compare",
      .summary = "compare a predicted timeline with an observed one",
      .positionals = {{"PREDICTED", "The predicted timeline: a timeline.h5, or its JSON form (X.timeline.json)."},
                      {"OBSERVED", "The observed timeline, in either of these forms.", true}},
      .options =
          std::vector<Option>{
              {"observed-kineto", 0, "DIR",
               "Read the observation from this folder of Kineto traces, one file per rank, instead of from "
               "OBSERVED. The traces may be those of PyTorch's profiler or of shardsim."},
              cases_option(),
              tolerance_option("the predicted iteration differs from the observed one by more than this, or a "
                               "class of operations or a collective does that takes at least 1 % of the iteration"),
              {"json", 0, "", "Print the comparison as one JSON document instead of tables."},
              details_option(),
              {"output", 'o', "FILE.html", "Also write an HTML page with charts to this file."}} +
          needing("output", {{"force", 0, "",
                              "Write the page even if its name does not end in .html, and replace a file that another "
                              "command or a person wrote or changed."}}),
      .examples = {"shardsim compare out/toy/timeline.h5 out/toy/timeline.h5 --tolerance 10% -o out/comparison.html",
                   "shardsim compare out/toy/timeline.h5 --observed-kineto out/toy/trace/row_wise --case row_wise"},
      .run = compare};
}

}  // namespace shardsim
