#include "base/files.h"
#include "cli/commands/all.h"
#include "cli/commands/shared.h"
#include "study/confidence/coverage.h"

namespace shardsim {
namespace {

int show_confidence(const Arguments& given, const Terminal& terminal) {
  const Progress progress = progress_of(given, "judging the intervals");
  const std::string path = given.text("residuals");
  const ErrorModel model(path.empty() ? shipped_residuals() : residuals_of(read_file(path), path));
  const Document document = coverage_document(coverage_of(model), model);
  constexpr int kBelowChapter = 3;
  print_result(given.has("markdown") ? document_markdown(document, kBelowChapter)
                                     : shown_text(document, given, terminal));
  return 0;
}

}  // namespace

Command confidence_command() {
  return {
      .name = "shardsim confidence",
      .summary = "show how often the intervals and probabilities that shardsim states came true for published times",
      .options = {{"residuals", 0, "FILE",
                   "A table of published times with their predictions (docs/confidence.md). Without this option the "
                   "shipped table is taken."},
                  {"markdown", 0, "", "Print the tables as Markdown."},
                  details_option()},
      .examples = {"shardsim confidence"},
      .run = show_confidence};
}

}  // namespace shardsim
