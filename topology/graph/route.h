#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "topology/graph/link.h"

namespace shardsim {

// Near to far, as `nvidia-smi topo -m` and NCCL name them.
enum class PathClass { loc, nvl, nvb, pix, pxb, phb, sys, net };

std::string_view path_class_name(PathClass path);  // "LOC", "NVL", ...

// The way bytes take between two ranks.
struct Route {
  PathClass path = PathClass::loc;
  std::vector<LinkId> links;  // in order; each carries all the bytes
  Bandwidth width;            // of the narrowest link (0 on the way to oneself)
  Seconds latency;
  std::optional<int> relay;  // local GPU index, NVB only
  double share = 1;          // part of the bytes that goes this way; below 1 when `also` has other ways
  std::vector<Route> also;   // relay rule `balanced`: ways over other relays; the shares add up to 1
};

}  // namespace shardsim
