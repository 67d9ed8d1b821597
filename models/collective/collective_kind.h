#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace shardsim {

enum class CollectiveKind { all_to_all, all_reduce, reduce_scatter, all_gather, broadcast, send_recv };

inline constexpr std::array kAllCollectiveKinds = {CollectiveKind::all_to_all,     CollectiveKind::all_reduce,
                                                   CollectiveKind::reduce_scatter, CollectiveKind::all_gather,
                                                   CollectiveKind::broadcast,      CollectiveKind::send_recv};

// True when every rank sends to single other ranks, with no schedule between them.
inline bool is_peer_to_peer(CollectiveKind kind) {
  return kind == CollectiveKind::all_to_all || kind == CollectiveKind::send_recv;
}

std::string_view collective_kind_name(CollectiveKind kind);

// By our name or one of NCCL's and nccl-tests' spellings ("alltoall", "AllReduce", "sendrecv_perf"); all_to_all_v is an
// all_to_all.
std::optional<CollectiveKind> collective_kind_named(std::string_view name);

// True when the name asks for an all_to_all of uneven bytes ("alltoallv", "all_to_all_v_perf").
bool names_uneven_exchange(std::string_view name);

std::vector<std::string> collective_kind_names();  // ours, for messages

// Bus bandwidth over algorithm bandwidth, as nccl-tests has it (doc/PERFORMANCE.md).
double bus_factor(CollectiveKind kind, int ranks);

// Tells whether NVSwitches reduce elements of a type by an operation, both as nccl-tests names them: sums of float and
// double; sums, minima and maxima of half, bfloat16 and whole numbers of 32 and 64 bits (NVIDIA/nccl
// src/include/device.h, ncclNvlsSupported). True where either is not known.
bool nvls_reduces(std::string_view type, std::string_view operation);

}  // namespace shardsim
