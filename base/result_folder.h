#pragma once

#include <filesystem>
#include <functional>

namespace shardsim {

// Result files of one run that appear together or not at all: `write` gets a hidden folder inside the target, which is
// made where it is missing, and what it wrote there is renamed into place. The files that an earlier run left in the
// target (their names are kept in `.shardsim-files`) go with it, so that a folder holds the results of one run alone;
// nobody else's file is ever replaced. When `write` throws, what lay in the target is as it was, and an Error that
// names the hidden folder comes out naming the target. What a killed run left half written is removed by the next one.
// Errors: Failure::run naming the target's path and the cause; where another process writes to it at the same time;
// where a file is in the way that no run of ours wrote.
void write_folder(const std::filesystem::path& target, const std::function<void(const std::filesystem::path&)>& write);

}  // namespace shardsim
