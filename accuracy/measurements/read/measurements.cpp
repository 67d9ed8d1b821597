#include "accuracy/measurements/read/measurements.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iterator>

#include "base/byte_order_mark.h"
#include "base/files.h"
#include "base/text.h"
#include "base/tree/json.h"

namespace shardsim {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostFile = std::size_t{256} << 20;

constexpr double kLeastUs = 1e-6, kMostUs = 1e12;

const std::vector<std::string> kEndings = {".csv", ".json", ".log", ".out", ".txt"};

// A table of ours names its columns; nccl-tests begins its lines with "#".
bool looks_like_csv(std::string_view text, const std::string& path) {
  if (fs::path(path).extension() == ".csv") return true;
  const std::string_view first = text.substr(0, text.find('\n'));
  return first_character(text) != '#' && first.find("system,") != std::string_view::npos;
}

Measurements read_one(const std::string& path, const RunHints& hints) {
  const std::string text = read_file(path, kMostFile);
  const char first = first_character(text);
  if (first == '\0') throw input_error({path}, "the file is empty", "Give measurements: " + join(kEndings));
  if (looks_like_csv(text, path)) return read_measurement_csv(text, path);
  if (first == '{') return read_nccl_tests_json(text, path, hints);
  return read_nccl_tests_text(text, path, hints);
}

// "all_reduce_output", "alltoall-2x8": the longest leading part that names a collective.
std::optional<CollectiveKind> kind_in(const std::string& stem) {
  for (std::size_t length = stem.size(); length > 0; --length) {
    if (const auto kind = find_collective_kind(stem.substr(0, length))) return kind;
  }
  return std::nullopt;
}

// A --kind that overruled the log would judge the times of one collective by the prediction of another.
CollectiveKind checked_kind(const RunSetting& run, const Place& place) {
  if (!run.kind && !run.asked) {
    throw input_error(place, "neither the output nor the file's name says which collective this is",
                      "Add --kind, one of " + join(collective_kind_names()));
  }
  if (run.kind && run.asked && run.kind != run.asked) {
    throw input_error(place,
                      fmt::format("the output, or the file's name, says {}; --kind says {}",
                                  collective_kind_name(*run.kind), collective_kind_name(*run.asked)),
                      "Leave --kind out, or rename the file where its name is wrong");
  }
  return run.kind ? *run.kind : *run.asked;
}

void check_measured_us(double us, const Place& place) {
  if (us <= 0) throw input_error(place, "the time is not above 0", "Leave out what was not measured");
  if (us < kLeastUs || us > kMostUs)
    throw input_error(place, fmt::format("a time of {:g} us is absurd", us),
                      fmt::format("Times from {:g} to {:g} us are judged", kLeastUs, kMostUs));
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
  for (const std::string& file : files_ending(path, kEndings)) all.append(read_one(file, hints));
  return all;
}

RunSetting setting_of(const std::string& source, const RunHints& hints) {
  const std::string stem = std::filesystem::path(source).stem().string();
  RunSetting setting;
  setting.system = hints.system.empty() ? stem : hints.system;
  setting.kind = kind_in(stem);
  setting.asked = hints.kind;
  return setting;
}

MeasuredRow RunSetting::row(const Place& place, std::int64_t bytes, double time_us, std::optional<double> algbw) const {
  const CollectiveKind kind_of_row = checked_kind(*this, place);
  const int host_count = static_cast<int>(hosts.size());
  if (host_count > 0 && ranks % host_count != 0) {
    throw input_error(place, fmt::format("{} ranks on {} hosts: not the same number on each", ranks, host_count),
                      "Compare runs that use as many GPUs on every node");
  }
  check_measured_us(time_us, place);
  MeasuredRow row;
  row.bytes = bytes;
  row.time = Seconds{time_us * 1e-6};
  row.algbw = algbw;
  row.place = place;
  row.system = system;
  row.kind = kind_of_row;
  row.record_kind = "log_row";
  row.source = place.source;
  if (host_count > 0) {
    row.nodes = host_count;
    row.gpus_per_node = ranks / host_count;
  }
  return row;
}

}  // namespace shardsim
