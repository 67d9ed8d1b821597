#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/fields/fields.h"
#include "topology/spec/gpu_spec.h"
#include "topology/spec/overhead_spec.h"

namespace shardsim {

inline constexpr int kMostLinksPerGpu = 1000;

enum class NvlinkKind { none, nvswitch, mesh };
enum class RelayRule { widest, lowest_index, highest_index, balanced, none };
inline constexpr std::array<std::string_view, 3> kNvlinkKinds = {"none", "switch", "mesh"};  // by NvlinkKind
inline std::vector<std::string> words_of(NvlinkKind) {
  return {kNvlinkKinds.begin(), kNvlinkKinds.end()};
}
inline std::vector<std::string> words_of(RelayRule) {
  return {"widest", "lowest_index", "highest_index", "balanced", "none"};
}

struct NvlinkSpec {
  NvlinkKind kind = NvlinkKind::none;
  int links_per_gpu = 0;
  Bandwidth per_link;            // data sheet, one direction
  Bandwidth per_link_effective;  // what flows use
  Seconds latency{1e-6};
  struct Pair {
    int a = 0, b = 0, links = 0;  // a < b
    bool operator==(const Pair&) const = default;
  };
  int domain = 0;           // 0: a node is a host
  std::vector<Pair> pairs;  // mesh only
  RelayRule relay = RelayRule::widest;
  double nvb_efficiency = 0.75;
  std::optional<FitRange> nvb_holds_for;  // absent: every call
  bool operator==(const NvlinkSpec&) const = default;

  // `nccl`: the version whose figures are the defaults.
  void keys(Fields& map, const GpuSpec& gpu, const std::string& nccl) {
    map.take("kind", kind, "how the GPUs of a node are connected by NVLink");
    map.usual("req unless none")
        .need_if(kind != NvlinkKind::none, "links_per_gpu", links_per_gpu, up_to(kMostLinksPerGpu), "NVLinks of a GPU");
    rate_keys(map, gpu, nccl);
    map.take("latency", latency, "latency of a path inside a node");
    map.usual("`gpu.count`")
        .take("domain", domain, up_to(kMostGpusPerNode),
              "only with `kind: switch`: the number of GPUs that one NVSwitch fabric joins, if they belong to several "
              "hosts; see [Domains](#domains)");
    if (!map.where(kind == NvlinkKind::mesh)) return refuse_mesh(map);
    map.take("relay", relay,
             "only with `kind: mesh`: which GPU relays the traffic of two GPUs without a link between them. `balanced` "
             "works for up to 16 GPUs; with `none` the traffic goes over PCIe");
    map.take("nvb_efficiency", nvb_efficiency, efficiency_leaf(),
             "only with `kind: mesh`: multiplies the rate of all NVLink traffic of a collective if the traffic of some "
             "pair is relayed");
    map.usual("every call")
        .take("nvb_holds_for", nvb_holds_for, "the range for which a fitted `nvb_efficiency` holds, see below");
    links_key(map, gpu.count);
  }

 private:
  void rate_keys(Fields& map, const GpuSpec& gpu, const std::string& nccl);
  void links_key(Fields& map, int gpu_count);
  static void refuse_mesh(Fields& map);
};

// The word of a kind.
inline std::string_view nvlink_kind_name(NvlinkKind kind) {
  return kNvlinkKinds.at(static_cast<std::size_t>(kind));
}

// NVLinks between two GPUs of a node; those to the switch where there is one.
int links_between(const NvlinkSpec& nvlink, int a, int b);

}  // namespace shardsim
