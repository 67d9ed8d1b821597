// The machines of a build with CUDA.
#include "validate/execute/devices/machine.h"
#include "validate/execute/wires/wire.h"

namespace shardsim {

std::span<const MachineEntry> machines() {
  static const MachineEntry table[] = {
      {"cpu", "threads of this process as streams, real lookups on its memory", cpu_transports(), make_cpu_machine,
       nullptr, longest_cpu_operation},
      {"cuda", "one GPU, its streams and kernels, collectives by NCCL", "nccl", make_cuda_machine, check_gpu_limits},
  };
  return table;
}

}  // namespace shardsim
