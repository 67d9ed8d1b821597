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
#include "base/read_files.h"
#include "base/result_folder.h"
#include "base/text.h"

namespace shardsim {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kHead = "shardsim files/2";
constexpr std::string_view kEscaped = "%\t\n\r";
constexpr std::string_view kRemedy = "Choose another name with -o, or add --force to replace it";
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

// The outermost link on the way to a file; empty where there is none.
fs::path link_above(const fs::path& target, const std::string& name) {
  std::error_code ignored;
  for (const fs::path& folder : folders_above(target, name))
    if (fs::is_symlink(folder, ignored)) return folder;
  return {};
}

// True of a result that nobody may write to any more: commands leave theirs writable. The user's permissions would
// not tell it, for a file is replaced within its folder, and root may do everything.
bool is_protected(const fs::path& path) {
  constexpr fs::perms kWrite = fs::perms::owner_write | fs::perms::group_write | fs::perms::others_write;
  std::error_code failure;
  const fs::perms permissions = fs::status(path, failure).permissions();
  return !failure && (permissions & kWrite) == fs::perms::none;
}

void refuse_link(const fs::path& link) {
  if (link.empty()) return;
  throw run_error(
      link.string() + ": a symbolic link has the name of a result file, and shardsim does not write through links",
      "Remove it, or choose another folder with -o");
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

void refuse_odd_record(const fs::path& target) {
  std::error_code failure;
  const fs::path record = target / FolderRecord::kFile;
  const fs::file_status status = fs::symlink_status(record, failure);
  if (fs::is_regular_file(status) && was_read(record))
    throw input_error({record.string()}, "this command has read the file, and results would be recorded there",
                      "Choose another folder with -o, or rename the file");
  if (!fs::exists(status) || fs::is_regular_file(status)) return;
  throw run_error(record.string() + ": " + (fs::is_symlink(status) ? "a link" : "something that is no file") +
                      " is in the way of results",
                  "Remove it, or choose another folder with -o");
}

std::vector<fs::path> folders_above(const fs::path& target, const std::string& name) {
  std::vector<fs::path> folders;
  fs::path folder = target;
  for (const fs::path& part : fs::path(name).parent_path()) folders.push_back(folder /= part);
  return folders;
}

bool is_own_file(const fs::path& target, const std::string& name) {
  std::error_code failure;
  return link_above(target, name).empty() && fs::is_regular_file(fs::symlink_status(target / name, failure));
}

void WritePermission::refuse_taken(const std::string& name) const {
  refuse_link(link_above(target_, name));
  std::error_code failure;
  const fs::file_status status = fs::symlink_status(target_ / name, failure);
  if (!fs::exists(status)) return;
  if (!fs::is_regular_file(status))
    throw run_error((target_ / name).string() +
                        ": something that is not a regular file has this name, and shardsim does not replace it",
                    "Remove it, or choose another name with -o");
  refuse_loss(name);
}

void WritePermission::refuse_loss(const std::string& name) const {
  const fs::path path = target_ / name;
  if (!is_own_file(target_, name)) return;
  if (was_read(path))
    throw input_error({path.string()}, "this command has read the file, so it does not replace it",
                      "Choose another name with -o");
  if (writer_.force) return;
  const std::string digest = file_digest(path);
  if (!record_.has(writer_.command, name, digest))
    throw input_error({path.string()}, whose(name, digest), std::string(kRemedy));
  if (is_protected(path))
    throw input_error({path.string()}, "the file is write-protected, so that it is kept", std::string(kRemedy));
}

// Why the file is not this command's to replace.
std::string WritePermission::whose(const std::string& name, const std::string& digest) const {
  if (const std::string other = record_.writer_of(name, digest); !other.empty())
    return "the file exists, and '" + printable(other) + "' wrote it";
  if (record_.has(writer_.command, name)) return "the file has changed since '" + writer_.command + "' wrote it";
  return "the file exists, and '" + writer_.command + "' is not known to have written it";
}

}  // namespace shardsim
