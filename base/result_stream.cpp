#include "base/result_stream.h"

#include <stdlib.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <string>

#include "base/at_end.h"
#include "base/files.h"

namespace shardsim {
namespace {

namespace fs = std::filesystem;

// An empty file cannot be put into a stream: it would set the stream's failure.
void pour(const fs::path& file, const fs::path& stream) {
  std::ifstream from(file, std::ios::binary);
  std::ofstream into(stream, std::ios::binary);
  if (into && fs::file_size(file) > 0) into << from.rdbuf();
  into.flush();
  if (!into) throw cannot_write(stream, std::strerror(errno));
}

fs::path new_folder_for(const fs::path& stream) {
  std::error_code failure;
  std::string name = (fs::temp_directory_path(failure) / "shardsim-XXXXXX").string();
  if (failure) throw cannot_write(stream, failure.message());
  if (::mkdtemp(name.data()) == nullptr) throw cannot_write(stream, std::strerror(errno));
  return name;
}

}  // namespace

bool is_stream(const fs::path& path) {
  std::error_code failure;
  const fs::file_status status = fs::status(path, failure);
  return fs::is_fifo(status) || fs::is_character_file(status);
}

void write_stream(const fs::path& stream, const std::function<void(const fs::path&)>& write) {
  const fs::path folder = new_folder_for(stream);
  const AtEnd tidy{[&] {
    std::error_code ignored;
    fs::remove_all(folder, ignored);
  }};
  const fs::path file = folder / stream.filename();
  write(file);
  pour(file, stream);
}

}  // namespace shardsim
