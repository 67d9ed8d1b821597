#include "base/folder_record.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <fstream>
#include <set>
#include <utility>

#include "base/error.h"
#include "base/files.h"
#include "base/text.h"

namespace shardsim {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kHead = "shardsim files/2";
constexpr std::string_view kEscaped = "%\t\n\r";
constexpr std::size_t kMostRecord = std::size_t{256} << 20;  // bytes

// A name as a line may hold it.
std::string escaped(const std::string& name) {
  std::string text;
  for (const char c : name)
    text += kEscaped.find(c) == std::string_view::npos ? std::string(1, c) : fmt::format("%{:02x}", c);
  return text;
}

std::string unescaped(const std::string& text) {
  std::string name;
  for (std::size_t at = 0; at < text.size(); ++at) {
    name += text[at];
    for (const char c : kEscaped) {
      if (text.compare(at, 3, fmt::format("%{:02x}", c)) != 0) continue;
      name.back() = c;
      at += 2;
    }
  }
  return name;
}

bool is_inside(const fs::path& path) {
  return !path.empty() && path.is_relative() && std::ranges::find(path, "..") == path.end();
}

// Without read_file(), which would note that the command has read it.
std::string text_of(const fs::path& file) {
  std::error_code failure;
  if (!fs::is_regular_file(fs::symlink_status(file, failure)) || fs::file_size(file, failure) > kMostRecord) return "";
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace

FolderRecord::FolderRecord(fs::path folder) : folder_(std::move(folder)) {
  const std::vector<std::string> lines = split(text_of(folder_ / kFile), '\n');
  if (lines.front() != kHead) return;
  for (const std::string& line : lines) {
    const std::vector<std::string> parts = split(line, '\t');
    if (parts.size() == 3 && is_inside(unescaped(parts[2]))) add(parts[1], unescaped(parts[2]), parts[0]);
  }
}

std::vector<std::string> FolderRecord::names_of(const std::string& command) const {
  std::set<std::string> names;
  for (const auto& [name, entry] : entries_)
    if (entry.command == command) names.insert(name);
  return {names.begin(), names.end()};
}

std::string FolderRecord::writer_of(const std::string& name, const std::string& digest) const {
  const auto [begin, end] = entries_.equal_range(name);
  const auto found =
      std::find_if(begin, end, [&](const auto& each) { return digest.empty() || each.second.digest == digest; });
  return found == end ? "" : found->second.command;
}

bool FolderRecord::has(const std::string& command, const std::string& name, const std::string& digest) const {
  const auto [begin, end] = entries_.equal_range(name);
  return std::any_of(begin, end, [&](const auto& each) { return each.second == Entry{command, digest}; });
}

bool FolderRecord::has(const std::string& command, const std::string& name) const {
  const auto [begin, end] = entries_.equal_range(name);
  return std::any_of(begin, end, [&](const auto& each) { return each.second.command == command; });
}

void FolderRecord::add(const std::string& command, const std::string& name, const std::string& digest) {
  if (!has(command, name, digest)) entries_.emplace(name, Entry{command, digest});
}

void FolderRecord::forget(const std::string& name) {
  entries_.erase(name);
}

void FolderRecord::forget_missing() {
  std::erase_if(entries_, [&](const auto& each) { return !is_file(folder_ / each.first); });
}

void FolderRecord::save() const {
  std::string text = std::string(kHead) + "\n";
  for (const auto& [name, entry] : entries_)
    text += fmt::format("{}\t{}\t{}\n", entry.digest, entry.command, escaped(name));
  write_file(folder_ / kFile, text);
}

std::string file_digest(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) throw cannot_read(path.string(), errno);
  std::array<char, 65536> piece{};
  std::uint64_t hash = fnv1a(""), size = 0;
  while (in.read(piece.data(), piece.size()), in.gcount() > 0) {
    hash = fnv1a({piece.data(), static_cast<std::size_t>(in.gcount())}, hash);
    size += static_cast<std::uint64_t>(in.gcount());
  }
  return fmt::format("{}-{:016x}", size, hash);
}

}  // namespace shardsim
