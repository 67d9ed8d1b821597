#include "accuracy/measurements/row_layout.h"

#include <fmt/format.h>

#include <algorithm>

#include "accuracy/measurements/read/gpu_names.h"
#include "base/text.h"
#include "models/collective/collective_kind.h"
#include "topology/spec/gpu_models.h"

namespace shardsim {
namespace {

constexpr double kClockSlack = 1.05;  // a measured rate this much above a link's is rounding and clocks

std::string counts_text(int nodes, int gpus) {
  return fmt::format("{} x {}", nodes, gpus);
}

// Hosts into domains of equal size, as few as hold them.
void into_domains(MeasuredRow& row, const ClusterSpec& spec) {
  if (spec.gpus_per_host == 0 || row.gpus_per_node > spec.gpus_per_host || row.nodes < 2) return;
  const int hosts_of_domain = std::max(1, spec.gpu.count / spec.gpus_per_host);
  int domains = (row.nodes + hosts_of_domain - 1) / hosts_of_domain;
  while (row.nodes % domains != 0) ++domains;
  row.gpus_per_node *= row.nodes / domains;
  row.nodes = domains;
}

[[noreturn]] void refuse_contradiction(const MeasuredRow& row, const StatedCounts& stated) {
  const int ranks = stated.nodes * stated.gpus_per_node;
  throw input_error(row.place,
                    fmt::format("{} says {}, {} ranks, and the log {} ({})", stated.place,
                                counts_text(stated.nodes, stated.gpus_per_node), ranks, row.ranks, row.counted_by),
                    "Correct one of them, or give the whole log");
}

// One number alone must divide the ranks: nothing else says what to make of it.
void check_divides(const MeasuredRow& row, const StatedCounts& stated) {
  const int number = std::max(stated.nodes, stated.gpus_per_node);
  if (row.ranks == 0 || number == 0 || row.ranks % number == 0) return;
  throw input_error(row.place,
                    fmt::format("{} says {}, and the log lists {} ({})", stated.place,
                                stated.nodes > 0 ? counted(static_cast<std::size_t>(number), "node")
                                                 : fmt::format("{} GPUs per node", number),
                                counted(static_cast<std::size_t>(row.ranks), "rank"), row.counted_by),
                    "Correct it, or give the whole log");
}

// One host's ranks are on one node. A node may be several of the hosts that a log names: containers, or the hosts of a
// rack.
void check_hosts(const MeasuredRow& row, const StatedCounts& stated) {
  const auto refuse = [&](const std::string& listed, const std::string& remedy) {
    throw input_error(row.place,
                      fmt::format("{} says {}, and the log lists {} ({})", stated.place,
                                  counts_text(stated.nodes, stated.gpus_per_node), listed, row.counted_by),
                      remedy);
  };
  if (row.most_hosts == 0) {  // of a log that lost lines, whose others tell the least
    if (stated.gpus_per_node < row.least_on_host)
      refuse(fmt::format("{} GPUs on one host, which are all on one node", row.least_on_host),
             fmt::format("State at least {} GPUs per node", row.least_on_host));
    return;
  }
  if (stated.nodes > row.most_hosts)
    refuse(fmt::format("its ranks on {} host{}, which are no more nodes than that", row.most_hosts,
                       row.most_hosts == 1 ? "" : "s"),
           "State no more nodes than the log has hosts");
  const bool has_names_of_their_own = row.most_hosts == row.nodes && row.gpus_per_node > 0;
  if (has_names_of_their_own && stated.gpus_per_node % row.gpus_per_node != 0)
    refuse(fmt::format("{} ranks on each host, which are all on one node", row.gpus_per_node),
           fmt::format("State a multiple of {} as GPUs per node", row.gpus_per_node));
}

// Where only one of the two numbers is stated, the ranks of the log give the other one.
StatedCounts completed(const MeasuredRow& row, StatedCounts stated) {
  if (row.ranks == 0) return stated;
  if (stated.nodes > 0 && stated.gpus_per_node == 0 && row.ranks % stated.nodes == 0)
    stated.gpus_per_node = row.ranks / stated.nodes;
  if (stated.gpus_per_node > 0 && stated.nodes == 0 && row.ranks % stated.gpus_per_node == 0)
    stated.nodes = row.ranks / stated.gpus_per_node;
  return stated;
}

// Processes with as many GPUs as a host of the cluster has are on hosts of their own.
void count_full_hosts(MeasuredRow& row, const ClusterSpec& spec) {
  const int host = spec.gpus_per_host > 0 ? spec.gpus_per_host : spec.gpu.count;
  if (row.nodes > 0 || row.gpus_per_node > 0 || row.ranks == 0 || row.gpus_of_process != host) return;
  row.nodes = row.ranks / host;
  row.gpus_per_node = host;
}

void lay_out_log(MeasuredRow& row, const StatedCounts& given, const ClusterSpec& spec) {
  const StatedCounts stated = completed(row, given);
  const bool is_stated = stated.nodes > 0 && stated.gpus_per_node > 0;
  if (is_stated && row.ranks > 0 && row.ranks != stated.nodes * stated.gpus_per_node) refuse_contradiction(row, stated);
  if (!is_stated) check_divides(row, stated);
  if (is_stated) {
    check_hosts(row, stated);
    row.nodes = stated.nodes;
    row.gpus_per_node = stated.gpus_per_node;
    return;
  }
  row.fill_in(stated.nodes, stated.gpus_per_node);
  count_full_hosts(row, spec);
  if (row.nodes > 0 && row.gpus_per_node > 0) return into_domains(row, spec);
  const std::string who = row.ranks > 0 ? fmt::format("its {} ranks", row.ranks) : "it";
  const std::string said = row.counted_by.empty() ? "" : fmt::format(" ({})", row.counted_by);
  throw input_error(row.place, fmt::format("the output does not say on how many nodes and GPUs {}{} ran", who, said),
                    stated.remedy);
}

// Returns what the busiest GPU, or a node, must at least send or receive of one call, whatever the algorithm:
// reductions and multicasts inside switches save the second pass of an all_reduce, but not the first.
double least_bytes(const MeasuredRow& row, int parts, int members_of_part) {
  const auto bytes = static_cast<double>(*row.bytes);
  switch (row.kind) {
    case CollectiveKind::all_to_all:
      return bytes * members_of_part * (parts - 1) / parts;
    case CollectiveKind::all_gather:
    case CollectiveKind::reduce_scatter:
      return bytes * (parts - 1) / parts;
    default:
      return bytes;
  }
}

// True of cards where the cluster has boards with NVLink, or the reverse: "NVIDIA H100 PCIe" is no H100-SXM5-80GB.
bool is_on_other_board(const std::string& logged, const std::string& stated) {
  const GpuModel *const log = known_gpu_model(logged), *const cluster = known_gpu_model(stated);
  return log != nullptr && cluster != nullptr && has_nvlink_board(log->name) != has_nvlink_board(cluster->name);
}

double gpu_port_rate(const ClusterSpec& spec) {
  const double pcie = pcie_line_rate(spec.pcie).bytes_per_second;
  if (spec.nvlink.kind == NvlinkKind::none) return pcie;
  return std::max(pcie, spec.nvlink.links_per_gpu * spec.nvlink.per_link.bytes_per_second);
}

}  // namespace

StatedCounts counts_of(const MappedSystem& system) {
  return {system.nodes, system.gpus_per_node, "the map, for system " + excerpt(system.label) + ",",
          fmt::format("Add nodes and gpus_per_node to system {} of the map", excerpt(system.label))};
}

void lay_out(MeasuredRow& row, const StatedCounts& stated, const ClusterSpec& spec) {
  if (row.counts_hosts) {
    lay_out_log(row, stated, spec);
  } else {
    row.fill_in(stated.nodes, stated.gpus_per_node);
    if (row.nodes == 0 || row.gpus_per_node == 0)
      throw input_error(row.place, "the row does not say on how many nodes and GPUs it ran", stated.remedy);
  }
  row.counts_hosts = false;
}

LinkRates link_rates(const MeasuredRow& row, const ClusterSpec& spec) {
  const double seconds = row.time->value / static_cast<double>(row.calls);
  const bool across = row.nodes > 1;
  if (row.record_kind != "log_row" || (across && !spec.nics)) return {};
  const double bytes = across ? least_bytes(row, row.nodes, row.gpus_per_node) * row.groups_at_once
                              : least_bytes(row, row.gpus_per_node, 1);
  return {{bytes / seconds},
          across ? Bandwidth{nics_of_node(spec) * spec.nics->rate.bytes_per_second} : Bandwidth{gpu_port_rate(spec)}};
}

std::string above_links(const MeasuredRow& row, const ClusterSpec& spec) {
  const LinkRates rates = link_rates(row, spec);
  if (rates.times() <= kClockSlack) return "";
  const bool across = row.nodes > 1;
  return fmt::format("{} to {} moved at {:.0f} GB/s or more, and {} of the cluster carry {:.0f}",
                     to_text(Bytes{*row.bytes}), across ? "another node" : "another GPU",
                     rates.measured.bytes_per_second * 1e-9, across ? "the NICs of a node" : "the links of a GPU",
                     rates.carried.bytes_per_second * 1e-9);
}

std::string other_gpu(const MeasuredRow& row, const ClusterSpec& spec) {
  if (is_processor(row.gpu) || is_processor(spec.gpu.model)) {
    if (row.gpu.empty() || is_processor(row.gpu) == is_processor(spec.gpu.model)) return "";
    return fmt::format("the log is of ranks on {}, the ranks of the cluster are {}", row.gpu, spec.gpu.model);
  }
  const std::string logged = gpu_product(row.gpu), stated = gpu_product(spec.gpu.model);
  if (logged.empty() || stated.empty() || is_foreign_gpu(row.gpu)) return "";
  if (logged == stated && !is_on_other_board(row.gpu, spec.gpu.model)) return "";
  return fmt::format("the log is of {}, the cluster has {}", row.gpu, spec.gpu.model);
}

}  // namespace shardsim
