#pragma once

#include <optional>
#include <vector>

#include "plan/torchrec/spec/table_spec.h"
#include "plan/torchrec/spec/topology.h"

namespace shardsim::torchrec {

enum class ReservationKind { fixed_percentage, heuristical, inference };

// Memory that no embedding may take (planner/storage_reservations.py).
struct ReservationSettings {
  ReservationKind kind = ReservationKind::heuristical;
  double percentage = 0.15;  // share of device memory, 0 to 1
  double parameter_multiplier = 6;
  std::optional<double> dense_tensor_estimate;  // bytes, instead of what the dense part gives; 0 counts as none
  double dense_parameter_bytes = 0;             // of all unsharded modules
  double dense_buffer_bytes = 0;
};

struct Reservation {
  Topology topology;      // with what is left
  Storage dense, kjt;     // per rank; the kjt is the batch of ids
  bool itemised = false;  // dense and kjt were reserved apart from the percentage
};

// Errors: PlannerError (insufficient_storage) when nothing is left on rank 0, by the heuristic.
Reservation reserve(const ReservationSettings& settings, const Topology& topology, const std::vector<TableSpec>& tables,
                    const EstimateSettings& estimate);

}  // namespace shardsim::torchrec
