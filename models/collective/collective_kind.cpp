#include "models/collective/collective_kind.h"

namespace shardsim {
namespace {

// Letters alone, small, without the endings that name a benchmark and how it was built ("_perf_mpi").
std::string plain_name(std::string_view name) {
  for (const std::string_view ending : {"_mpi", "_perf"})
    if (name.ends_with(ending)) name.remove_suffix(ending.size());
  std::string plain;
  for (char c : name)
    if (c != '_' && c != '-') plain += static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  return plain;
}

}  // namespace

std::string_view collective_kind_name(CollectiveKind kind) {
  constexpr std::array<std::string_view, kAllCollectiveKinds.size()> kNames = {
      "all_to_all", "all_reduce", "reduce_scatter", "all_gather", "broadcast", "send_recv"};
  return kNames[static_cast<std::size_t>(kind)];
}

std::optional<CollectiveKind> collective_kind_named(std::string_view name) {
  const std::string plain = plain_name(name);
  if (names_uneven_exchange(name)) return CollectiveKind::all_to_all;
  for (CollectiveKind kind : kAllCollectiveKinds)
    if (plain == plain_name(collective_kind_name(kind))) return kind;
  return std::nullopt;
}

bool names_uneven_exchange(std::string_view name) {
  return plain_name(name) == "alltoallv";
}

std::vector<std::string> collective_kind_names() {
  std::vector<std::string> names;
  for (const CollectiveKind kind : kAllCollectiveKinds) names.emplace_back(collective_kind_name(kind));
  return names;
}

double bus_factor(CollectiveKind kind, int ranks) {
  if (kind == CollectiveKind::broadcast || kind == CollectiveKind::send_recv) return 1;
  const double once = (ranks - 1.0) / ranks;
  return kind == CollectiveKind::all_reduce ? 2 * once : once;
}

bool nvls_reduces(std::string_view type, std::string_view operation) {
  if (type == "int8" || type == "uint8" || type.starts_with("f8") || type.starts_with("fp8")) return false;
  if (operation.empty() || operation == "sum") return true;
  if (operation != "min" && operation != "max") return false;
  return type != "float" && type != "double";
}

}  // namespace shardsim
