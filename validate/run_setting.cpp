#include "validate/run_setting.h"

#include <fmt/format.h>

#include <filesystem>

#include "base/text.h"

namespace shardsim {
namespace {

// "all_reduce_output", "alltoall-2x8": the longest leading part that names a collective.
std::optional<CollectiveKind> kind_in(const std::string& stem) {
  for (std::size_t length = stem.size(); length > 0; --length) {
    if (const auto kind = find_collective_kind(stem.substr(0, length))) return kind;
  }
  return std::nullopt;
}

}  // namespace

RunSetting setting_of(const std::string& source, const RunHints& hints) {
  const std::string stem = std::filesystem::path(source).stem().string();
  RunSetting setting;
  setting.system = hints.system.empty() ? stem : hints.system;
  setting.kind = hints.kind ? hints.kind : kind_in(stem);
  return setting;
}

MeasuredRow RunSetting::row(const Place& place) const {
  if (!kind) {
    throw input_error(place, "neither the output nor the file's name says which collective this is",
                      "Add --kind, one of " + join(collective_kind_names()));
  }
  const int host_count = static_cast<int>(hosts.size());
  if (host_count > 0 && ranks % host_count != 0) {
    throw input_error(place, fmt::format("{} ranks on {} hosts: not the same number on each", ranks, host_count),
                      "Compare runs that use as many GPUs on every node");
  }
  MeasuredRow row;
  row.place = place;
  row.system = system;
  row.kind = *kind;
  row.record_kind = "log_row";
  row.source = place.source;
  if (host_count > 0) {
    row.nodes = host_count;
    row.gpus_per_node = ranks / host_count;
  }
  return row;
}

}  // namespace shardsim
