// The machines of a build with CUDA.
#include "validate/execute/devices/gpu_limits.h"
#include "validate/execute/run/execute.h"
#include "validate/execute/wires/wire.h"

namespace shardsim {

std::unique_ptr<Machine> make_cpu_machine(const Program& program, Rendezvous& rendezvous,
                                          const MachineOptions& options);
std::unique_ptr<Machine> make_cuda_machine(const Program& program, Rendezvous& rendezvous,
                                           const MachineOptions& options);

std::span<const MachineEntry> machines() {
  static const MachineEntry table[] = {
      {"cpu", "threads of this process as streams, real lookups on its memory", cpu_transports(), make_cpu_machine},
      {"cuda", "one GPU, its streams and kernels, collectives by NCCL", "nccl", make_cuda_machine, check_gpu_limits},
  };
  return table;
}

}  // namespace shardsim
