#include "validate/measurements/run_setting.h"

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

}  // namespace

RunSetting setting_of(const std::string& source, const RunHints& hints) {
  const std::string stem = std::filesystem::path(source).stem().string();
  RunSetting setting;
  setting.system = hints.system.empty() ? stem : hints.system;
  setting.kind = kind_in(stem);
  setting.asked = hints.kind;
  return setting;
}

MeasuredRow RunSetting::row(const Place& place) const {
  const CollectiveKind kind_of_row = checked_kind(*this, place);
  const int host_count = static_cast<int>(hosts.size());
  if (host_count > 0 && ranks % host_count != 0) {
    throw input_error(place, fmt::format("{} ranks on {} hosts: not the same number on each", ranks, host_count),
                      "Compare runs that use as many GPUs on every node");
  }
  MeasuredRow row;
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
