#pragma once

#include <filesystem>
#include <string>

#include "cli/arguments.h"

namespace shardsim {

// The folder that -o names, or `standard`. Errors: -o - and an empty name; `command` is named there.
std::filesystem::path output_folder(const Arguments& given, const std::string& command,
                                    const std::filesystem::path& standard);

}  // namespace shardsim
