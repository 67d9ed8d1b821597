#pragma once

#include <filesystem>
#include <istream>
#include <memory>

#include "base/error.h"

namespace shardsim {

// A compressed file that is damaged or cut off, so that a reader can say what came before.
struct DamagedFile : Error {
  using Error::Error;
};

// True when a file begins as every file of gzip does, and no text.
bool begins_as_gzip(std::istream& in);

// A file as a stream of its text, whether it is compressed by gzip or not; unpacked part by part, so that it is never
// in memory whole. What is behind the first compressed member (files of gzip may be joined) follows it.
// Errors (Failure::run) when it cannot be opened; (DamagedFile, Failure::input, naming it) from the stream's buffer
// where it is damaged or cut off, which readers that ask the buffer itself, as nlohmann's do, let through.
std::unique_ptr<std::istream> open_text(const std::filesystem::path& path);

}  // namespace shardsim
