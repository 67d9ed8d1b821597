#include <fmt/format.h>

#include <cstdio>
#include <filesystem>

#include "base/files.h"
#include "base/text.h"
#include "base/units.h"
#include "cli/command.h"
#include "cli/say.h"
#include "cli/scenario_arguments.h"
#include "cli/tolerance.h"
#include "base/workers.h"
#include "validate/comparison/compared_files.h"
#include "validate/comparison/comparison_html.h"
#include "validate/comparison/comparison_json.h"
#include "validate/comparison/comparison_sheets.h"

namespace shardsim {
namespace {

constexpr const char* kCompareUsage =
    "shardsim compare PREDICTED OBSERVED|--observed-kineto DIR [--case NAME] [--tolerance P%] [--json] [-o "
    "report.html]";

TimelineSource observed_source(const Arguments& given) {
  const auto folder = given.value("observed-kineto");
  const bool has_file = given.positional().size() == 2;
  if (folder && has_file)
    throw input_error(Arguments::place("observed-kineto"), "beside " + excerpt(given.positional()[1]),
                      "Give one observation: a file, or --observed-kineto DIR");
  if (!folder && !has_file)
    throw input_error({"arguments"}, "the observation is missing", std::string("Usage: ") + kCompareUsage);
  return folder ? read_kineto_source(*folder) : read_timeline_source(given.positional()[1]);
}

// Before anything is read: a name that cannot be written is no surprise after minutes.
std::optional<std::filesystem::path> page_path(const Arguments& given) {
  const auto path = given.value("output");
  if (!path) return std::nullopt;
  if (*path == "-" || path->empty() || is_folder(*path))
    throw input_error(Arguments::place("output"), excerpt(*path) + " is no file for a page",
                      "Name a file, e.g. -o report.html");
  if (!path->ends_with(".html") && !path->ends_with(".htm") && !given.has("force"))
    throw input_error(Arguments::place("output"), excerpt(*path) + " does not end in .html",
                      "Name the page FILE.html, or add --force");
  return *path;
}

// 0 or 4, and a line on stderr that says why.
int verdict(const ComparisonReport& report) {
  const std::vector<std::string> outside = report.outside();
  if (outside.empty()) return 0;
  constexpr std::size_t kNamed = 6;
  std::vector<std::string> named(outside.begin(), outside.begin() + std::min(outside.size(), kNamed));
  if (outside.size() > kNamed) named.push_back(fmt::format("and {} more", outside.size() - kNamed));
  say(fmt::format("error: outside the tolerance of {} %: {}", shortest(*report.tolerance_pct), printable(join(named))));
  return kOutsideTolerance;
}

}  // namespace

int compare_command(const std::vector<std::string>& arguments, const Terminal& terminal) {
  const Arguments given(arguments,
                        {{"observed-kineto", 0, true, false},
                         {"case", 0, true, false},
                         {"tolerance", 0, true, false},
                         {"output", 'o', true, false},
                         {"json", 0, false, false},
                         {"force", 0, false, false}},
                        1, 2, kCompareUsage);
  const std::optional<double> most = tolerance(given);
  const std::optional<std::filesystem::path> page = page_path(given);
  const TimelineSource observed = observed_source(given);
  ComparisonReport report =
      compare_sources(read_timeline_source(given.positional()[0]), observed, given.value("case").value_or(""));
  report.tolerance_pct = most;
  throw_if_interrupted(terminal.interrupted);
  if (page) write_file(*page, comparison_html(report));
  const std::string text =
      given.has("json") ? comparison_json(report) : comparison_text(report, terminal.width, terminal.colour);
  std::fwrite(text.data(), 1, text.size(), stdout);
  if (page) say(fmt::format("report: {}", page->string()));
  return verdict(report);
}

}  // namespace shardsim
