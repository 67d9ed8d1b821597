#include <fmt/format.h>

#include <algorithm>

#include "accuracy/measurements/read/measurements.h"
#include "base/text.h"
#include "base/tree/json.h"
#include "base/tree/map_reader.h"

namespace shardsim {
namespace {

constexpr std::int64_t kNewestVersion = 3;

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

// Some versions list one device per process only; its rank numbers then go in steps of the process's GPUs.
void read_devices(const Tree& file, RunSetting& run) {
  const Tree* const config = file.find("config");
  const Tree* devices = file.find("devices");
  if (devices == nullptr) devices = optional_field(config, "devices");
  if (devices == nullptr || devices->kind != Tree::Kind::list || devices->items.empty()) return;
  const int per_process = config_count(config, "nthreads") * config_count(config, "ngpus");
  bool all_listed = false;
  for (const Tree& device : devices->items) {
    run.hosts.insert(required(device, "hostname", Tree::Kind::scalar).scalar);
    all_listed = all_listed || number(device, "rank", parse_count) % per_process != 0;
  }
  run.ranks = static_cast<int>(devices->items.size()) * (all_listed ? 1 : per_process);
}

void read_program(const Tree& file, RunSetting& run) {
  const Tree* const args = file.find("args");
  if (args == nullptr || args->kind != Tree::Kind::list || args->items.empty()) return;
  const std::string& path = args->items.front().scalar;
  if (const auto kind = find_collective_kind(path.substr(path.rfind('/') + 1))) run.kind = kind;
}

std::optional<MeasuredRow> row_of(const Tree& entry, const RunSetting& run) {
  const std::int64_t bytes = number(entry, "size", parse_count);
  const Tree* const figures = optional_field(&entry, "out_of_place");
  if (bytes == 0 || figures == nullptr || figures->kind == Tree::Kind::null) return std::nullopt;
  std::optional<double> algbw;
  if (optional_field(figures, "alg_bw") != nullptr) algbw = number(*figures, "alg_bw", parse_real);
  return run.row(entry.place, bytes, number(*figures, "time", parse_real), algbw);
}

}  // namespace

Measurements read_nccl_tests_json(std::string_view text, const std::string& source, const RunHints& hints) {
  const Tree file = parse_json(text, source);
  check_version(file);
  RunSetting run = setting_of(source, hints);
  read_program(file, run);
  read_devices(file, run);
  Measurements result;
  int left_out = 0;
  for (const Tree& entry : required(file, "results", Tree::Kind::list).items) {
    if (std::optional<MeasuredRow> row = row_of(entry, run)) {
      result.rows.push_back(std::move(*row));
    } else {
      ++left_out;
    }
  }
  if (left_out > 0) {
    result.notes.push_back(
        fmt::format("{}: {} rows of size 0 or without out-of-place time left out", source, left_out));
  }
  return result;
}

}  // namespace shardsim
