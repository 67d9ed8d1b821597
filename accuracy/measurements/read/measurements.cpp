#include "accuracy/measurements/read/measurements.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "base/encoding.h"
#include "base/files.h"
#include "base/read_files.h"
#include "base/text.h"
#include "base/tree/json.h"

namespace shardsim {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostFile = std::size_t{256} << 20;

constexpr std::size_t kHead = std::size_t{64} << 10;  // tells one form of file from another

const std::vector<std::string> kEndings = {".csv", ".json", ".log", ".out", ".txt"};

// Rows of nccl-tests that somebody saved as a table, with the columns that it has.
bool is_export(std::string_view header) {
  return header.find("size,") != std::string_view::npos && header.find(",algbw,") != std::string_view::npos;
}

// A table of ours names its columns; nccl-tests begins its lines with "#".
bool looks_like_csv(std::string_view text, const std::string& path) {
  const std::string_view first = text.substr(0, text.find('\n'));
  if (fs::path(path).extension() == ".csv") return !is_export(first);
  return first_character(text) != '#' && first.find("system,") != std::string_view::npos;
}

// The first bytes of a file. Errors (Failure::input): it cannot be read.
std::string head_of(const std::string& path) {
  std::ifstream file = open_to_read(path);
  std::string head(kHead, '\0');
  errno = 0;
  if (!file.read(head.data(), static_cast<std::streamsize>(head.size())) && file.gcount() == 0 && !file.eof())
    throw cannot_read(path, errno == 0 ? EIO : errno);
  head.resize(static_cast<std::size_t>(file.gcount()));
  return head;
}

Measurements read_log(const std::string& path, const RunHints& hints) {
  std::ifstream log = open_to_read(path);
  return read_nccl_tests_log(log, path, hints);
}

bool has_only_carriage_returns(std::string_view head) {
  return head.find('\r') != std::string_view::npos && head.find('\n') == std::string_view::npos;
}

// Where the object of nccl-tests' JSON begins below lines of a log, as on a terminal; npos where a table stands there.
std::size_t json_begin(std::string_view head) {
  for (std::size_t at = head.find("\n{"); at != std::string_view::npos; at = head.find("\n{", at + 1)) {
    if (head.substr(0, at).find("algbw") != std::string_view::npos) break;
    const std::size_t key = head.find_first_not_of(" \t\r\n", at + 2);
    if (key != std::string_view::npos && head.substr(key).starts_with("\"version\"")) return at + 1;
  }
  return std::string_view::npos;
}

// With the lines above it empty, so that places stay what they are.
Measurements read_json_below_log(const std::string& path, std::size_t begin, const RunHints& hints) {
  const std::string text = read_file(path, kMostFile);
  const auto lines = static_cast<std::size_t>(std::count(text.begin(), text.begin() + begin, '\n'));
  const std::size_t end = text.rfind('}');
  return read_nccl_tests_json(std::string(lines, '\n') + text.substr(begin, end == text.npos ? end : end + 1 - begin),
                              path, hints);
}

// Whatever is not ASCII is no part of what is read of it.
Measurements read_utf16(const std::string& path, const RunHints& hints) {
  const std::string text = ascii_of_utf16(read_file(path, kMostFile));
  if (looks_like_csv(text, path)) return read_measurement_csv(text, path);
  return first_character(text) == '{' ? read_nccl_tests_json(text, path, hints)
                                      : read_nccl_tests_text(text, path, hints);
}

Measurements read_one(const std::string& path, const RunHints& hints) {
  if (!is_file(path)) read_file(path, kMostFile);  // refuses what is no file in the words of all commands
  const std::string head = head_of(path);
  const char first = first_character(head);
  if (first == '\0')
    throw input_error({path}, head.find('\0') == head.npos ? "the file is empty" : "the file is no text",
                      "Give measurements: " + join(kEndings));
  if (is_utf16(head)) return read_utf16(path, hints);
  if (looks_like_csv(head, path)) return read_measurement_csv(read_file(path, kMostFile), path);
  if (has_only_carriage_returns(head)) {
    std::string text = read_file(path, kMostFile);
    std::ranges::replace(text, '\r', '\n');
    return read_nccl_tests_text(text, path, hints);
  }
  const std::size_t object = first == '{' ? head.npos : json_begin(head);
  if (object != head.npos) return read_json_below_log(path, object, hints);
  // Each line of a container's file is an object with the line of its program.
  const bool is_of_container = head.substr(head.find('{') + 1).starts_with("\"log\":");
  if (first == '{' && !is_of_container) return read_nccl_tests_json(read_file(path, kMostFile), path, hints);
  return read_log(path, hints);
}

constexpr std::size_t kMostNamedLogs = 4;

// True of output of nccl-tests, of which each file is a system of its own where nobody names it.
bool are_named_by_files(const std::vector<MeasuredRow>& rows) {
  return std::ranges::all_of(rows, [](const MeasuredRow& row) {
    return std::filesystem::path(row.place.source).stem().string() == row.system;
  });
}

}  // namespace

void Measurements::append(Measurements more) {
  std::move(more.rows.begin(), more.rows.end(), std::back_inserter(rows));
  std::move(more.notes.begin(), more.notes.end(), std::back_inserter(notes));
}

std::optional<CollectiveKind> find_collective_kind(std::string_view name) {
  // One size does not tell how much each pair of an uneven exchange sent.
  return names_uneven_exchange(name) ? std::nullopt : collective_kind_named(name);
}

std::vector<std::string> files_ending(const std::string& folder, const std::vector<std::string>& endings) {
  const auto ends_so = [&](const fs::path& path) {
    return is_file(path) && std::ranges::find(endings, path.extension().string()) != endings.end();
  };
  std::vector<std::string> files;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    if (ends_so(at->path())) files.push_back(at->path().string());
  }
  if (files.empty()) {
    throw input_error({folder}, "the folder holds no measurements",
                      "Put files there that end in " + join(endings) + ", or name one file");
  }
  std::ranges::sort(files);
  return files;
}

Measurements read_measurements(const std::string& path, const RunHints& hints) {
  if (!is_folder(path)) return read_one(path, hints);
  Measurements all;
  std::optional<Error> first_fault;
  for (const std::string& file : files_ending(path, kEndings)) {
    try {
      all.append(read_one(file, hints));
    } catch (const Error& fault) {
      if (fault.failure() != Failure::input) throw;
      if (!first_fault) first_fault = fault;
      all.notes.push_back(fmt::format("left out: {}", fault.what()));
    }
  }
  if (all.rows.empty() && first_fault) throw Error(*first_fault);
  return all;
}

std::vector<MeasuredRow> rows_of_system(const std::vector<MeasuredRow>& rows, const std::string& label,
                                        const std::string& measurements) {
  std::vector<std::string> labels;
  for (const MeasuredRow& row : rows)
    if (std::ranges::find(labels, row.system) == labels.end()) labels.push_back(row.system);
  if (labels.size() > 1 && label.empty()) {
    if (are_named_by_files(rows))
      throw input_error({measurements},
                        fmt::format("these are {} logs, which do not name their system and have the names of their "
                                    "files: {}",
                                    labels.size(), first_names(labels, kMostNamedLogs)),
                        "Give all of them one name with --system, if they are of one");
    const std::size_t systems = labels.size();
    for (std::string& name : labels)
      if (name.find_first_of(", ") != std::string::npos) name = shell_quoted(name);
    throw input_error({measurements}, fmt::format("the file holds {} systems", systems),
                      fmt::format("Name one with --system: {}", join(labels)));
  }
  if (!label.empty() && std::ranges::find(labels, label) == labels.end()) {
    throw input_error({"argument --system"}, fmt::format("no row is of system {}", excerpt(label)),
                      known_names_hint(label, labels));
  }
  std::vector<MeasuredRow> chosen;
  std::ranges::copy_if(rows, std::back_inserter(chosen),
                       [&](const MeasuredRow& row) { return label.empty() || row.system == label; });
  return chosen;
}

}  // namespace shardsim
