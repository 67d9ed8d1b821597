#include "validate/measurements/measurements.h"

#include <algorithm>
#include <filesystem>
#include <iterator>

#include "base/files.h"
#include "base/text.h"

namespace shardsim {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostFile = std::size_t{256} << 20;

const std::vector<std::string> kEndings = {".csv", ".json", ".log", ".out", ".txt"};

bool is_measurement_file(const fs::path& path) {
  return is_file(path) && std::ranges::find(kEndings, path.extension().string()) != kEndings.end();
}

std::vector<std::string> files_of(const std::string& folder) {
  std::vector<std::string> files;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    if (is_measurement_file(at->path())) files.push_back(at->path().string());
  }
  if (files.empty()) {
    throw input_error({folder}, "the folder holds no measurements",
                      "Put files there that end in " + join(kEndings) + ", or name one file");
  }
  std::ranges::sort(files);
  return files;
}

// A table of ours names its columns; nccl-tests begins its lines with "#".
bool looks_like_csv(std::string_view text, const std::string& path) {
  if (fs::path(path).extension() == ".csv") return true;
  const std::string_view first = text.substr(0, text.find('\n'));
  return !first.starts_with('#') && first.find("system,") != std::string_view::npos;
}

Measurements read_one(const std::string& path, const RunHints& hints) {
  const std::string text = read_file(path, kMostFile);
  if (looks_like_csv(text, path)) return read_measurement_csv(text, path);
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first != std::string::npos && text[first] == '{') return read_nccl_tests_json(text, path, hints);
  return read_nccl_tests_text(text, path, hints);
}

}  // namespace

void Measurements::append(Measurements more) {
  std::move(more.rows.begin(), more.rows.end(), std::back_inserter(rows));
  std::move(more.notes.begin(), more.notes.end(), std::back_inserter(notes));
}

std::optional<CollectiveKind> find_collective_kind(std::string_view name) {
  // What each pair of an uneven exchange sent cannot be told from one size.
  return names_uneven_exchange(name) ? std::nullopt : collective_kind_named(name);
}

Measurements read_measurements(const std::string& path, const RunHints& hints) {
  if (!is_folder(path)) return read_one(path, hints);
  Measurements all;
  for (const std::string& file : files_of(path)) all.append(read_one(file, hints));
  return all;
}

}  // namespace shardsim
