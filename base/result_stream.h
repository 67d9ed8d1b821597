#pragma once

#include <filesystem>
#include <functional>

namespace shardsim {

// Results that a user sends into a pipe, to a character device such as /dev/null, or to /dev/stdout and the other names
// of what the process has open: nothing is replaced there, so nothing is asked and nothing recorded.
bool is_stream(const std::filesystem::path& path);  // links are followed

// `write` gets the path of a file with the stream's name in a folder of its own; what it has written goes into the
// stream once it is whole. Waits until somebody reads a pipe. Errors: Failure::run naming the stream and the cause.
void write_stream(const std::filesystem::path& stream, const std::function<void(const std::filesystem::path&)>& write);

}  // namespace shardsim
