// The machines of a build with CUDA.
#include "validate/execute/execute.h"

namespace shardsim {

std::unique_ptr<Machine> make_cpu_machine(const Program& program, Rendezvous& rendezvous,
                                          const MachineOptions& options);
std::unique_ptr<Machine> make_cuda_machine(const Program& program, Rendezvous& rendezvous,
                                           const MachineOptions& options);

namespace {

constexpr MachineEntry kMachines[] = {
    {"cpu", "threads of this process as streams, real lookups on its memory", "sockets,mpi", make_cpu_machine},
    {"cuda", "one GPU, its streams and kernels, collectives by NCCL", "nccl", make_cuda_machine},
};

}  // namespace

std::span<const MachineEntry> machines() {
  return kMachines;
}

}  // namespace shardsim
