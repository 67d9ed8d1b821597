#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/tree/map_reader.h"
#include "topology/spec/cluster_spec.h"

namespace shardsim {

// What one compute operation asks of a device.
struct ComputeWork {
  enum class Kind { lookup, update, dense };
  Kind kind = Kind::dense;
  double hbm_bytes = 0;  // read plus written
  Seconds host_link;     // that its bytes between host memory and the device take at least
  double flops = 0;
  std::string precision = "fp32";  // of those, as in GpuSpec::flops
  double lookups = 0;              // rows read by the operation
  std::string optimizer;           // update: of the workload; "" where gradients are only summed
  bool sorted_update = false;      // update: exact, sorted (several kernels)
  Seconds fixed;                   // measured duration that replaces the model, when above 0
};

// Seconds that a device takes for one operation, alone on the device.
// Contract: pure; never negative; not falling when bytes, FLOP or lookups grow. `fixed` is returned as it is.
class ComputeModel {
 public:
  virtual ~ComputeModel() = default;
  virtual Seconds seconds(const ComputeWork& work, const GpuSpec& gpu) const = 0;
};

// Why what was fitted of the GPU does not hold for an operation ("3 GiB (fitted up to 1 GiB)"), which takes it all the
// same; "" where it does, nothing was fitted, or the operation's time is given.
std::string outside_fit(const ComputeWork& work, const GpuSpec& gpu);

struct ComputeModelEntry {
  std::string_view name;
  std::string_view help;
  std::unique_ptr<ComputeModel> (*make)(MapReader& options);
};

std::span<const ComputeModelEntry> compute_models();  // alphabetical

// The one that `options` (a map with `name`) asks for. Errors: unknown name (lists the known ones), unknown options.
std::unique_ptr<ComputeModel> make_compute_model(const Tree& options);

}  // namespace shardsim
