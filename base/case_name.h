#pragma once

#include <string>
#include <string_view>

namespace shardsim {

// Why a text cannot be the name of a case, as "has over 256 bytes"; "" where it can. The parts between slashes become
// groups of timeline.h5 and folders of traces, so there are at most 16, none of them empty, "." or "..", and no control
// character. Every reader of a file that names cases calls this function, and refuses a bad name with its place in the
// file.
std::string case_name_fault(std::string_view name);

inline constexpr const char* kCaseNameRemedy =
    "Write at most 16 parts joined by '/', 256 bytes in all; a part is never empty, '.' or '..'";

}  // namespace shardsim
