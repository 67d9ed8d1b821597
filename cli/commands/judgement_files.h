#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "cli/arguments/arguments.h"

namespace shardsim {

// The texts of a comparison with measured times.
struct JudgementTexts {
  std::string json, csv, page;
  std::string terminal;                        // for people, without --json
  std::string markdown;                        // tables of docs/accuracy.md, where there are some
  std::optional<double> median_abs_error_pct;  // that --tolerance bounds
};

// The folder of such a comparison: what `--output`, `--tolerance`, `--force` and `--json` say of it.
class JudgementFolder {
 public:
  // Before anything is read or computed. `usual`: its name in out/. Errors: Failure::input for options that cannot be
  // followed.
  JudgementFolder(const Arguments& given, const std::string& usual, bool with_markdown);

  // Writes the files and prints the result. Returns the exit code: 0, or 4 outside the tolerance.
  int deliver(const JudgementTexts& texts) const;

 private:
  const Arguments& given_;
  std::optional<double> most_;
  std::filesystem::path folder_;
  bool with_markdown_;
};

}  // namespace shardsim
