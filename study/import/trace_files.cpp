#include "study/import/trace_files.h"

#include <fmt/format.h>

#include <array>
#include <utility>

#include "base/error.h"
#include "base/text.h"
#include "study/scenario/traced_dense.h"

namespace shardsim {
namespace {

// GPUs by a word in their name, the more particular ones first, and a shipped cluster that has them.
constexpr std::array<std::pair<const char*, const char*>, 9> kClusterOfDevice = {{{"GH200", "cscs_alps_gh200"},
                                                                                  {"GB200", "gb200_nvl72"},
                                                                                  {"B200", "hgx_b200_8x400g"},
                                                                                  {"H200", "dgx_h200"},
                                                                                  {"H100", "dgx_h100"},
                                                                                  {"PG509", "dgx_a100_40gb"},
                                                                                  {"A100-SXM4-40GB", "dgx_a100_40gb"},
                                                                                  {"A100", "dgx_a100_80gb"},
                                                                                  {"V100", "dgx1_v100"}}};
constexpr std::uint64_t kUnknownRows = 1'000'000;
constexpr std::int64_t kUnknownDim = 64;

void name_cluster(const TracedModel& traced, bool simulated, ImportSetting& setting) {
  if (!setting.cluster_assumed) return;
  for (const auto& [word, cluster] : kClusterOfDevice) {
    if (traced.device.find(word) == std::string::npos) continue;
    // A rank that stands alone needs a node with one GPU, which the NICs of whole DGX A100 do not allow.
    const bool single = !simulated && std::string_view(cluster).starts_with("dgx_a100");
    setting.cluster = single ? "a100_80gb_single" : cluster;
    setting.cluster_assumed = false;
    setting.notes.push_back(
        fmt::format("The GPU is {}, so the cluster is {} (--cluster).", traced.device, setting.cluster));
    return;
  }
  throw input_error({traced.path},
                    traced.device.empty() ? std::string("the trace does not say which GPU it is of")
                                          : fmt::format("no shipped cluster has the GPU {}", excerpt(traced.device)),
                    "Name a cluster with --cluster");
}

ImportedTable unknown_table() {
  ImportedTable imported;
  Table& table = imported.table;
  table.name = "unknown";
  table.rows = kUnknownRows;
  table.dim = kUnknownDim;
  table.kind = TableKind::pooled;
  table.average_length = 1;
  table.features = {Feature{"unknown"}};
  return imported;
}

void say_what_was_read(const TracedModel& traced, bool tables, ImportSetting& setting) {
  setting.notes.push_back(fmt::format("The step is the median of {} ({:.3f} to {:.3f} ms); {} left out as warm-up.",
                                      counted(traced.steps, "step"), traced.shortest.ms(), traced.longest.ms(),
                                      counted(traced.left_out, "step")));
  std::string names;
  for (const auto& [name, time] : traced.dense)
    names += fmt::format("{}{} {:.3f} ms", names.empty() ? "" : "; ", excerpt(name), time.ms());
  if (!names.empty())
    setting.notes.push_back("Kernels that are no embedding's count as dense, most of all " + names + ".");
  setting.notes.emplace_back(
      "The dense part, the host, lookups and updates are as measured, for this batch and these GPUs: another batch or "
      "GPU does not change them.");
  if (tables) return;
  setting.notes.push_back(fmt::format(
      "The tables are unknown: the trace has {} and {}, and {}. Give them with --tables; until then one "
      "table stands for all, and exchanges are as measured, too.",
      counted(traced.lookup_kernels, "kernel") + " of lookups",
      counted(traced.update_kernels, "kernel") + " of updates",
      traced.world_size > 1 ? fmt::format("a world of {} ranks", traced.world_size) : std::string("one rank")));
}

}  // namespace

TraceImport trace_import(const TracedModel& traced, const ImportedModel* tables, ImportSetting setting) {
  TraceImport result;
  if (tables != nullptr && traced.lookup_kernels == 0)
    throw input_error({traced.path}, "tables are given, but no lookup is in the trace",
                      "Leave --tables out, or give a trace of a step with embeddings");
  name_cluster(traced, tables != nullptr && traced.world_size > 1, setting);
  result.model = tables != nullptr ? *tables : ImportedModel{traced.path, {unknown_table()}, {}, std::nullopt};
  result.model.source = traced.path;
  // Ranks of a world exchange vectors of known tables in the simulation; otherwise the measured rank stands alone.
  const bool simulated = tables != nullptr && traced.world_size > 1;
  constexpr std::int64_t kRanksOfNode = 8;
  if (!simulated || traced.world_size < kRanksOfNode) setting.gpus = simulated ? traced.world_size : 1;
  if (!setting.nodes) setting.nodes = simulated ? std::max<std::int64_t>(1, traced.world_size / kRanksOfNode) : 1;
  setting.dense = traced_dense_text(traced, !simulated);
  say_what_was_read(traced, tables != nullptr, setting);
  result.setting = std::move(setting);
  return result;
}

}  // namespace shardsim
