#include "base/result_stream.h"

#include <stdlib.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>

#include "base/at_end.h"
#include "base/files.h"

namespace shardsim {
namespace {

namespace fs = std::filesystem;

std::optional<int> descriptor_number(const std::string& text) {
  int number = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
  return failure == std::errc{} && end == text.data() + text.size() && number >= 0 ? std::optional(number)
                                                                                   : std::nullopt;
}

// The number of this process's own descriptor that a path names, as /dev/stdout and /dev/fd/3 do.
std::optional<int> descriptor_at(fs::path path) {
  constexpr int kMostLinks = 40;  // as the system
  const fs::path own = fs::path("/proc") / std::to_string(::getpid()) / "fd";
  std::error_code failure;
  for (int links = 0; links < kMostLinks; ++links) {
    const fs::path folder = fs::canonical(path.has_parent_path() ? path.parent_path() : ".", failure);
    if (failure) return std::nullopt;
    if (folder == own) return descriptor_number(path.filename().string());
    if (!fs::is_symlink(path, failure)) return std::nullopt;
    path = folder / fs::read_symlink(path, failure);
  }
  return std::nullopt;
}

// Through the descriptor itself: opened anew by its name, a file behind it would lose what it holds and what the shell
// was told to add to.
void pour_into(int descriptor, const fs::path& file, const fs::path& stream) {
  std::ifstream from(file, std::ios::binary);
  std::array<char, 65536> piece{};
  while (from.read(piece.data(), piece.size()), from.gcount() > 0) {
    for (std::string_view left(piece.data(), static_cast<std::size_t>(from.gcount())); !left.empty();) {
      const ssize_t wrote = ::write(descriptor, left.data(), left.size());
      if (wrote < 0 && errno != EINTR) throw cannot_write(stream, std::strerror(errno));
      if (wrote > 0) left.remove_prefix(static_cast<std::size_t>(wrote));
    }
  }
}

// An empty file cannot be put into a stream: it would set the stream's failure.
void pour(const fs::path& file, const fs::path& stream) {
  if (const auto descriptor = descriptor_at(stream)) return pour_into(*descriptor, file, stream);
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
  return fs::is_fifo(status) || fs::is_character_file(status) || descriptor_at(path);
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
