#include "cli/output_folder.h"

namespace shardsim {

std::filesystem::path output_folder(const Arguments& given, const std::string& command,
                                    const std::filesystem::path& standard) {
  const auto folder = given.value("output");
  if (!folder) return standard;
  if (*folder != "-" && !folder->empty()) return *folder;
  throw input_error(Arguments::place("output"), command + " writes a folder of files, not one text",
                    "Name a folder, or use --json for standard output");
}

}  // namespace shardsim
