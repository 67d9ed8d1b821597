#include "program/timeline/op_kind.h"

#include <algorithm>
#include <array>

namespace shardsim {
namespace {

// The kinds of collectives of docs/formats/comparisons.md and the classes of docs/formats/program.md.
constexpr std::array<std::string_view, 7> kCollectiveKinds = {
    "all_gather", "all_reduce", "all_to_all", "all_to_all_v", "broadcast", "reduce_scatter", "send_recv"};

}  // namespace

bool is_communication(std::string_view op_class) {
  return std::find(kCollectiveKinds.begin(), kCollectiveKinds.end(), op_class) != kCollectiveKinds.end();
}

bool is_compute(std::string_view op_class) {
  return op_class == "lookup" || op_class == "update" || op_class == "dense";
}

bool is_host(std::string_view op_class) {
  return op_class == "host";
}

}  // namespace shardsim
