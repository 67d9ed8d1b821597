#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/fields/fields.h"
#include "topology/spec/gpu_spec.h"

namespace shardsim {

inline constexpr int kMostRanks = 100'000;  // a larger number is a typing error, and would exhaust the memory

// The calls that fitted overheads hold for: those that the measurements behind them cover. Other calls take the
// defaults.
struct FitRange {
  Bytes bytes_from;
  std::optional<Bytes> bytes_to;  // absent: what holds for the largest measured call holds for larger ones
  int ranks_from = 2;
  int ranks_to = 0;    // 0: no limit
  std::string nvlink;  // empty: any wiring of a node
  bool operator==(const FitRange&) const = default;

  void keys(Fields& map) {
    map.take("bytes_from", bytes_from,
             "size of the smallest call, as nccl-tests counts it: of an uneven all_to_all, what the busiest rank sends "
             "or receives");
    map.take("bytes_to", bytes_to, "of the largest; left out if the constants hold for larger calls, too");
    map.take("ranks_from", ranks_from, up_to(kMostRanks), "ranks of the smallest group");
    map.take("ranks_to", ranks_to, up_to(kMostRanks), "of the largest");
    map.choose("nvlink", nvlink, {"switch", "mesh", "none"}, "how the GPUs of a node are connected");
    map.refuse_if(bytes_to && *bytes_to < bytes_from, "bytes_to", "bytes_to is below bytes_from",
                  "Write the larger one");
    map.refuse_if(ranks_to > 0 && ranks_to < ranks_from, "ranks_to", "ranks_to is below ranks_from",
                  "Write the larger one");
  }
};

// Errors of a calibration's predictions on calls that it left out: scales of ln(measured / predicted), by the size of a
// call. Absent: no call of that size was left out.
struct HeldOutCalls {
  int rows = 0;
  std::optional<double> below_64kib, from_64kib, from_1mib, from_64mib;
  std::optional<double> scale(std::int64_t bytes) const;
  std::array<std::optional<double>*, 4> scales() { return {&below_64kib, &from_64kib, &from_1mib, &from_64mib}; }
  bool operator==(const HeldOutCalls&) const = default;

  void keys(Fields& map) {
    map.take("rows", rows, up_to(1'000'000), "the number of calls");
    map.take("below_64kib", below_64kib, error_scale_leaf(),
             "of calls below 64 KiB the mean of |ln(measured / predicted)|, pulled towards the mean over all sizes, "
             "which counts as three rows");
    map.take("from_64kib", from_64kib, error_scale_leaf(), "of calls from 64 KiB");
    map.take("from_1mib", from_1mib, error_scale_leaf(), "of calls from 1 MiB");
    map.take("from_64mib", from_64mib, error_scale_leaf(), "of calls from 64 MiB");
  }
};

// `nic_efficiency`: a share, or the word `graph` where it is absent.
void nic_efficiency_key(Fields& map, std::optional<double>& efficiency);

// Corrections for what NCCL's formula and pure flows leave out, for one collective kind and reach.
struct OverheadConstants {
  Seconds start;
  Seconds per_remote_peer;
  std::optional<double> nic_efficiency;   // absent: bounded by the graph, or by NCCL's own model
  std::optional<Bandwidth> nic_rate;      // absent: the line rate is the limit
  std::optional<Bandwidth> channel_rate;  // of exchanges in a node; absent: no limit
  double beside_start = 1;  // share of launch and latency of the steps that comes on top of `start`; fitted, it is 0
  double efficiency = 1;
  Seconds fill;
  std::optional<Seconds> nvls_fill;  // where NCCL runs NVLS or NVLSTree; absent: `fill`
  double latency_share = 1;
  bool plateau = true;
  std::optional<FitRange> holds_for;  // absent: every call
  bool operator==(const OverheadConstants&) const = default;

  bool start_is_fitted() const { return beside_start == 0; }
  Seconds fill_of(bool nvls) const { return nvls ? nvls_fill.value_or(fill) : fill; }
  // The constants of one kind; `all` of them where a page lists those of every kind. Defaults that a kind does not have
  // are taken, because a written cluster holds every key.
  void keys(Fields& map, std::string_view kind, bool across_nodes);

 private:
  void refuse_fit_above_one(Fields& map) const;
  void refuse_foreign(Fields& map, std::string_view kind, bool across_nodes) const;
};

// Constants with what a calibration adds to them.
struct OverheadSpec : OverheadConstants {
  std::optional<HeldOutCalls> held_out;     // absent: not calibrated
  std::optional<OverheadConstants> before;  // the calibration: what calls that it did not measure take, or lean on
  bool operator==(const OverheadSpec&) const = default;

  void keys(Fields& map, std::string_view kind, bool across_nodes);
};

struct OverheadPair {
  OverheadSpec in_node, across_nodes;
  bool operator==(const OverheadPair&) const = default;
};

// The overhead of a kind and reach for which a cluster file states nothing (docs/formats/cluster.md).
OverheadSpec default_overhead(const std::string& kind, bool across_nodes);

}  // namespace shardsim
