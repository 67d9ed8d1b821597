#include <fmt/format.h>

#include <algorithm>

#include "accuracy/measurements/read/measurements.h"
#include "accuracy/measurements/read/nccl_run.h"
#include "accuracy/measurements/read/run_settings.h"
#include "base/text.h"
#include "base/tree/json.h"
#include "base/tree/map_reader.h"

namespace shardsim {
namespace {

constexpr std::int64_t kNewestVersion = 4;

const Tree& required(const Tree& map, std::string_view key, Tree::Kind kind) {
  const Tree* const found = map.kind == Tree::Kind::map ? map.find(key) : nullptr;
  if (found != nullptr && found->kind == kind) return *found;
  throw input_error(map.place, fmt::format("'{}' is missing, or not {}", key, kind_name(kind)),
                    "Give the file as nccl-tests wrote it with -J");
}

const Tree* optional_field(const Tree* map, std::string_view key) {
  return map != nullptr && map->kind == Tree::Kind::map ? map->find(key) : nullptr;
}

template <typename Parse>
auto number(const Tree& map, std::string_view key, const Parse& parse) {
  const Tree& cell = required(map, key, Tree::Kind::scalar);
  try {
    return parse(cell.scalar, cell.place);
  } catch (const Error&) {
    throw input_error(cell.place, fmt::format("'{}' is {}, which is no number in range", key, excerpt(cell.scalar)),
                      "Give the file as nccl-tests wrote it with -J");
  }
}

void check_version(const Tree& file) {
  const std::int64_t version = number(file, "version", parse_count);
  if (version >= 1 && version <= kNewestVersion) return;
  throw input_error(file.place, fmt::format("file version {} of nccl-tests is not known", version),
                    fmt::format("Versions 1 to {} are read; give the text output instead", kNewestVersion));
}

int config_count(const Tree* config, std::string_view key) {
  const Tree* const found = optional_field(config, key);
  if (found == nullptr) return 1;
  const std::int64_t value = number(*config, key, parse_count);
  return static_cast<int>(std::clamp<std::int64_t>(value, 1, 1024));
}

constexpr std::int64_t kMostJsonDevices = 1 << 18;  // more is no run of nccl-tests

// A rank, a group or the number of a GPU.
int small_number(const Tree& map, std::string_view key) {
  const std::int64_t value = number(map, key, parse_count);
  if (value < kMostJsonDevices) return static_cast<int>(value);
  throw input_error(map.place, fmt::format("'{}' is {}", key, value),
                    fmt::format("At most {} are read", kMostJsonDevices));
}

std::string text_of(const Tree& map, std::string_view key) {
  const Tree* const found = optional_field(&map, key);
  return found != nullptr && found->kind == Tree::Kind::scalar ? found->scalar : "";
}

RunDevice device_of(const Tree& entry, int rank) {
  RunDevice device;
  device.place = entry.place;
  device.rank = rank;
  device.host = required(entry, "hostname", Tree::Kind::scalar).scalar;
  if (optional_field(&entry, "group") != nullptr) device.group = small_number(entry, "group");
  if (optional_field(&entry, "device") != nullptr) device.number = small_number(entry, "device");
  device.pid = text_of(entry, "pid");
  device.bus = text_of(entry, "device_hex");
  device.name = text_of(entry, "device_info");
  return device;
}

// Some versions list one device per process only; its rank numbers then go in steps of the process's GPUs.
void read_devices(const Tree& file, NcclRuns& runs) {
  const Tree* const config = file.find("config");
  const Tree* devices = file.find("devices");
  if (devices == nullptr) devices = optional_field(config, "devices");
  if (devices == nullptr || devices->kind != Tree::Kind::list || devices->items.empty()) return;
  const int per_process = config_count(config, "nthreads") * config_count(config, "ngpus");
  if (static_cast<std::int64_t>(devices->items.size()) * per_process > kMostJsonDevices)
    throw input_error(devices->place, fmt::format("{} processes with {} GPUs each", devices->items.size(), per_process),
                      fmt::format("At most {} GPUs are read", kMostJsonDevices));
  std::vector<int> ranks;
  for (const Tree& device : devices->items) ranks.push_back(small_number(device, "rank"));
  const bool all_listed = std::ranges::any_of(ranks, [&](int rank) { return rank % per_process != 0; });
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    for (int more = 0; more < (all_listed ? 1 : per_process); ++more) {
      RunDevice device = device_of(devices->items[i], ranks[i] + more);
      if (more > 0) device.number.reset();  // only that of the process's first GPU is listed
      runs.add(std::move(device));
    }
  }
}

void read_program(const Tree& file, NcclRuns& runs) {
  const Tree* const args = file.find("args");
  if (args == nullptr || args->kind != Tree::Kind::list || args->items.empty()) return;
  runs.start(args->items.front().scalar, args->items.front().place);
  std::vector<std::string> options;
  for (const Tree& arg : args->items) options.push_back(arg.scalar);
  runs.method().read_options(options);
}

// What the options say is in the config as well, with what they do not say.
void read_config(const Tree& file, NcclRuns& runs) {
  const Tree* const config = file.find("config");
  if (config == nullptr) return;
  for (const auto& [name, value] : config->fields) runs.method().set(name, value.scalar);
}

// "NCCL_ALGO=Ring", as a list of texts or as a map.
void read_environment(const Tree& file, NcclRuns& runs) {
  if (const std::string version = text_of(file, "nccl_version"); !version.empty())
    for (const RunSetting& setting : settings_in("nccl-library=" + version)) runs.set(setting);
  const Tree* const env = file.find("env");
  if (env == nullptr) return;
  const auto take = [&](const std::string& assignment) {
    if (RunMethod::splits(assignment)) runs.method().split();
    for (const RunSetting& setting : settings_in(assignment)) runs.set(setting);
  };
  for (const auto& [name, value] : env->fields) take(name + "=" + value.scalar);
  for (const Tree& item : env->items) take(item.scalar);
}

// The sum at the end, whose count has two names.
void read_end(const Tree& file, NcclRuns& runs) {
  runs.end();
  const Tree* const sum = file.find("out_of_bounds");
  if (sum == nullptr || text_of(*sum, "okay") != "false") return;
  const std::string count = text_of(*sum, "count"), other = text_of(*sum, "out_of_bounds_count");
  runs.wrong_values(!count.empty() ? count : !other.empty() ? other : "some");
}

// Returns how many values nccl-tests found wrong, out of place or in place; null where it did not check.
double wrong_values(const Tree& entry, std::string_view place) {
  const Tree* const figures = optional_field(&entry, place);
  const Tree* const found = optional_field(figures, "nwrong");
  return found != nullptr && found->kind == Tree::Kind::scalar ? number(*figures, "nwrong", parse_real) : 0;
}

// Returns nothing for a row of size 0 or without an out-of-place time.
std::optional<PrintedRow> printed_row(const Tree& entry) {
  PrintedRow row;
  row.place = entry.place;
  row.bytes = number(entry, "size", parse_count);
  const Tree* const figures = optional_field(&entry, "out_of_place");
  if (row.bytes == 0 || figures == nullptr || figures->kind == Tree::Kind::null) return std::nullopt;
  if (optional_field(figures, "cpu_time") != nullptr)
    throw input_error(figures->place, "the run reports CPU time", "Run nccl-tests without -C 1");
  row.time_us = number(*figures, "time", parse_real);
  if (optional_field(figures, "alg_bw") != nullptr) row.algbw = number(*figures, "alg_bw", parse_real);
  if (optional_field(figures, "bus_bw") != nullptr) row.busbw = number(*figures, "bus_bw", parse_real);
  row.wrong = wrong_values(entry, "out_of_place") + wrong_values(entry, "in_place");
  row.type = text_of(entry, "type");
  row.reduction = text_of(entry, "redop");
  if (row.reduction == "none") row.reduction.clear();
  return row;
}

}  // namespace

Measurements read_nccl_tests_json(std::string_view text, const std::string& source, const RunHints& hints) {
  const Tree file = parse_json(text, source);
  check_version(file);
  NcclRuns runs(source, hints);
  read_program(file, runs);
  read_config(file, runs);
  read_environment(file, runs);
  read_devices(file, runs);
  int left_out = 0;
  for (const Tree& entry : required(file, "results", Tree::Kind::list).items) {
    if (std::optional<PrintedRow> row = printed_row(entry)) {
      runs.add(std::move(*row));
    } else {
      ++left_out;
    }
  }
  read_end(file, runs);
  Measurements result = runs.take();
  if (left_out > 0) {
    result.notes.push_back(
        fmt::format("{}: {} rows of size 0 or without out-of-place time left out", source, left_out));
  }
  return result;
}

}  // namespace shardsim
