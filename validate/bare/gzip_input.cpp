// On a compute node without zlib.
#include "base/gzip_input.h"

#include <fstream>

#include "base/error.h"
#include "base/files.h"
#include "base/read_files.h"

namespace shardsim {

bool begins_as_gzip(std::istream& in) {
  return in.peek() == 0x1f;
}

std::unique_ptr<std::istream> open_text(const std::filesystem::path& path) {
  auto file = std::make_unique<std::ifstream>(open_to_read(path));
  if (begins_as_gzip(*file))
    throw input_error({path.string()}, "compressed, and this build reads plain JSON", "Unpack it first, with gunzip");
  return file;
}

}  // namespace shardsim
