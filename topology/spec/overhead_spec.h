#pragma once

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
struct OverheadSpec {
  Seconds start;
  Seconds per_remote_peer;
  std::optional<double> nic_efficiency;  // absent: bounded by the graph, or by NCCL's own model
  std::optional<Bandwidth> nic_rate;     // absent: the line rate is the limit
  bool start_is_fitted = false;          // then `start` holds the latency of the steps too
  double efficiency = 1;
  Seconds fill;
  double latency_share = 1;
  bool plateau = true;
  std::optional<FitRange> holds_for;     // absent: every call
  std::optional<HeldOutCalls> held_out;  // absent: not calibrated
  bool operator==(const OverheadSpec&) const = default;

  // The constants of one kind; `all` of them where a page lists those of every kind. Defaults that a kind does not have
  // are taken, because a written cluster holds every key.
  void keys(Fields& map, std::string_view kind, bool across_nodes) {
    map.usual("all_to_all, send_recv \"60 us\"; else \"0 s\"").take("start", start, "time of a call before bytes move");
    if (map.reading()) start_is_fitted = map.reader().is_fitted("start");
    map.usual("all_to_all across nodes \"5 us\"; else \"0 s\"")
        .take("per_remote_peer", per_remote_peer, "only across nodes: added once for each peer on another node");
    map.take("efficiency", efficiency, factor_leaf(2),  // above 1: faster than NCCL's estimate
             "the share of NCCL's own bandwidth that the kind reaches; for all_to_all and send_recv, the share of the "
             "rate of the GPUs' ports. At most 1 with `fitted: true`");
    refuse_fit_above_one(map);
    map.take("fill", fill, "what a pipeline loses per chunk: adds 2 sqrt(`fill` x time of the bytes)");
    map.take("latency_share", latency_share, factor_leaf(100),
             "the share of NCCL's latency that is visible as time; not for all_to_all and send_recv");
    map.take("plateau", plateau,
             "only all_reduce across nodes: whether the factor (1.4 or 1.9) by which NCCL raises the latency of rings "
             "at large sizes is visible as time. It decides NCCL's choice of an algorithm in any case");
    if (across_nodes) {
      nic_efficiency_key(map, nic_efficiency);
      map.usual("the line rate")
          .take("nic_rate", nic_rate,
                "the most that one NIC carries for the kind, whatever its line rate, for example because processors "
                "copy its bytes (TCP). A faster NIC does not raise it");
    }
    map.usual("every call").take("holds_for", holds_for, "the range for which these constants were fitted, see below");
    map.take("held_out", held_out,
             "how far a calibration's predictions of calls that it left out were off, see below. `cluster calibrate` "
             "writes this key");
    refuse_foreign(map, kind, across_nodes);
  }

 private:
  void refuse_fit_above_one(Fields& map) const;
  void refuse_foreign(Fields& map, std::string_view kind, bool across_nodes) const;
};

struct OverheadPair {
  OverheadSpec in_node, across_nodes;
  bool operator==(const OverheadPair&) const = default;
};

// The overhead of a kind and reach for which a cluster file states nothing (docs/formats/cluster.md).
OverheadSpec default_overhead(const std::string& kind, bool across_nodes);

}  // namespace shardsim
