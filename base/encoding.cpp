#include "base/encoding.h"

#include <cstdint>
#include <cstring>

namespace shardsim {
namespace {

std::size_t continuation_bytes(unsigned char lead) {
  if (lead < 0x80) return 0;
  if (lead >= 0xc2 && lead < 0xe0) return 1;
  if (lead >= 0xe0 && lead < 0xf0) return 2;
  if (lead >= 0xf0 && lead < 0xf5) return 3;
  return std::string_view::npos;
}

// Second bytes that would make an overlong form, a surrogate, or a code point above U+10FFFF.
bool second_byte_allowed(unsigned char lead, unsigned char second) {
  if (lead == 0xe0) return second >= 0xa0;
  if (lead == 0xed) return second < 0xa0;
  if (lead == 0xf0) return second >= 0x90;
  if (lead == 0xf4) return second < 0x90;
  return true;
}

// True only if all eight bytes are printable ASCII, as nearly all of the files are that a command reads at its start.
bool are_printable_ascii(const char* eight) {
  constexpr std::uint64_t kEach = 0x0101010101010101, kHighest = 0x80 * kEach;
  std::uint64_t bytes = 0;
  std::memcpy(&bytes, eight, sizeof bytes);
  return ((bytes | (bytes - 0x20 * kEach) | (bytes + kEach)) & kHighest) == 0;
}

}  // namespace

std::size_t character_length(std::string_view text, std::size_t at) {
  const auto lead = static_cast<unsigned char>(text[at]);
  const std::size_t more = continuation_bytes(lead);
  if (more == std::string_view::npos || at + more >= text.size()) return 0;
  for (std::size_t i = 1; i <= more; ++i) {
    if ((static_cast<unsigned char>(text[at + i]) & 0xc0) != 0x80) return 0;
  }
  if (more > 0 && !second_byte_allowed(lead, static_cast<unsigned char>(text[at + 1]))) return 0;
  return more + 1;
}

std::optional<BinaryFormat> binary_format(std::string_view bytes) {
  using namespace std::string_view_literals;
  struct Signature {
    std::string_view bytes;
    BinaryFormat format;
  };
  constexpr std::string_view kInPython =
      "Load it in Python and write its content as JSON, of a plan of TorchRec json.dump(plan._serialize(), file)";
  constexpr std::string_view kUnpack = "Unpack it first";
  static constexpr Signature kSignatures[] = {
      {"PK\x03\x04"sv,
       {"a ZIP archive, as torch.save makes, too",
        "Unpack it; what torch.save wrote, load in Python and write as JSON"}},
      {"\x1f\x8b"sv, {"compressed by gzip", kUnpack}},
      {"\x28\xb5\x2f\xfd"sv, {"compressed by zstd", kUnpack}},
      {"\xfd\x37zXZ"sv, {"compressed by xz", kUnpack}},
      {"BZh"sv, {"compressed by bzip2", kUnpack}},
      {"\x80\x02"sv, {"a pickle of Python", kInPython}},
      {"\x80\x03"sv, {"a pickle of Python", kInPython}},
      {"\x80\x04"sv, {"a pickle of Python", kInPython}},
      {"\x80\x05"sv, {"a pickle of Python", kInPython}},
      {"\x93NUMPY"sv, {"an array of numpy", "Write its numbers as text"}},
      {"SQLite format 3"sv, {"a database of SQLite", "Export what is asked for as text"}},
      {"\x89HDF"sv, {"a file of HDF5", "Give a text file"}},
      {"PAR1"sv, {"a file of Parquet", "Write its rows as CSV"}},
      {"\xff\xfe"sv, {"text in UTF-16", "Save it as UTF-8"}},
      {"\xfe\xff"sv, {"text in UTF-16", "Save it as UTF-8"}}};
  for (const Signature& each : kSignatures)
    if (bytes.starts_with(each.bytes)) return each.format;
  constexpr std::size_t kTarName = 257;  // where the name of the format stands
  if (bytes.size() > kTarName && bytes.substr(kTarName).starts_with("ustar"))
    return BinaryFormat{"a tar archive", kUnpack};
  return std::nullopt;
}

bool is_plain_text(std::string_view text, std::size_t& bad_offset) {
  const auto is_plain_ascii = [](char c) { return c >= 0x20 && c < 0x7f; };
  const auto is_line_or_tab = [](char c) { return c == '\t' || c == '\n' || c == '\r'; };
  constexpr std::size_t kAtOnce = sizeof(std::uint64_t);
  for (std::size_t at = 0; at < text.size();) {
    if (at + kAtOnce <= text.size() && are_printable_ascii(text.data() + at)) {
      at += kAtOnce;
      continue;
    }
    const char c = text[at];
    if (is_plain_ascii(c)) {
      ++at;
      continue;
    }
    const std::size_t length = character_length(text, at);
    bad_offset = at;
    if (length == 0 || (length == 1 && !is_line_or_tab(c))) return false;
    at += length;
  }
  return true;
}

bool is_utf16(std::string_view text) {
  return text.starts_with("\xff\xfe") || text.starts_with("\xfe\xff");
}

std::string ascii_of_utf16(std::string_view text) {
  const std::size_t low = text.starts_with("\xff\xfe") ? 0 : 1;
  std::string ascii;
  for (std::size_t at = 2; at + 1 < text.size(); at += 2) {
    const char character = text[at + low];
    ascii += text[at + 1 - low] == '\0' && character > 0 ? character : '?';
  }
  return ascii;
}

}  // namespace shardsim
