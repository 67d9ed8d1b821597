#include "cli/commands/judgement_files.h"

#include <fmt/format.h>

#include <vector>

#include "base/files.h"
#include "base/result_folder.h"
#include "cli/commands/shared.h"

namespace shardsim {

JudgementFolder::JudgementFolder(const Arguments& given, const std::string& usual, bool with_markdown)
    : given_(given),
      most_(tolerance(given)),
      folder_(output_folder(given, "compare", std::filesystem::path("out") / usual)),
      with_markdown_(with_markdown) {
  std::vector<std::string> files = {"comparison.json", "predictions.csv", "report.html"};
  if (with_markdown_) files.insert(files.begin(), "accuracy.md");
  check_results(folder_, result_writer(given_), files);
}

int JudgementFolder::deliver(const JudgementTexts& texts) const {
  const int code = tolerance_verdict(texts.median_abs_error_pct, most_);
  write_folder(folder_, result_writer(given_), [&](const std::filesystem::path& hidden) {
    write_file(hidden / "comparison.json", texts.json);
    write_file(hidden / "predictions.csv", texts.csv);
    write_file(hidden / "report.html", texts.page);
    if (with_markdown_) write_file(hidden / "accuracy.md", texts.markdown);
  });
  print_result(given_.has("json") ? texts.json : texts.terminal);
  if (!given_.has("json")) say(fmt::format("wrote {}", folder_.string()));
  return code;
}

}  // namespace shardsim
