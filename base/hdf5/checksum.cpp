#include "base/hdf5/checksum.h"

#include <fmt/format.h>
#include <zlib.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <fstream>

#include "base/error.h"
#include "base/files.h"

namespace shardsim {
namespace {

constexpr std::string_view kMark = "\nshardsim crc32 ";
constexpr std::size_t kLine = kMark.size() + 9;  // eight digits and the end of the line

std::string line_of(std::uint32_t sum) {
  return fmt::format("{}{:08x}\n", kMark, sum);
}

std::uint32_t crc_of_nothing() {
  return static_cast<std::uint32_t>(crc32_z(0, nullptr, 0));
}

// Of what came before and of these bytes.
std::uint32_t crc_of(std::string_view bytes, std::uint32_t before) {
  return static_cast<std::uint32_t>(crc32_z(before, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

}  // namespace

std::string checksum_line(std::string_view bytes) {
  return line_of(crc_of(bytes, crc_of_nothing()));
}

Checksum checksum_of(const std::filesystem::path& path) {
  std::error_code error;
  const std::uintmax_t size = std::filesystem::file_size(path, error);
  std::ifstream file(path, std::ios::binary);
  if (error || !file) throw cannot_read(path.string(), error ? error.value() : errno);
  if (size < kLine) return Checksum::missing;
  std::uint32_t crc = crc_of_nothing();
  std::array<char, 65536> piece{};
  for (std::uintmax_t left = size - kLine; left > 0;) {
    file.read(piece.data(), static_cast<std::streamsize>(std::min<std::uintmax_t>(left, piece.size())));
    if (file.gcount() <= 0) throw input_error(Place{path.string()}, "cannot be read to its end", "Copy it anew");
    crc = crc_of({piece.data(), static_cast<std::size_t>(file.gcount())}, crc);
    left -= static_cast<std::uintmax_t>(file.gcount());
  }
  std::string line(kLine, '\0');
  file.read(line.data(), static_cast<std::streamsize>(line.size()));
  if (!line.starts_with(kMark)) return Checksum::missing;
  return line == line_of(crc) ? Checksum::right : Checksum::wrong;
}

}  // namespace shardsim
