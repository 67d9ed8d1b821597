#include "validate/execute/devices/cuda_seat.h"

#include <cuda_runtime.h>
#include <fmt/format.h>

#include <array>
#include <cstdlib>

#include "base/error.h"
#include "validate/execute/devices/nccl_set.h"
#include "validate/execute/meet/layout.h"

namespace shardsim {
namespace {

// Chooses the GPU of this rank among those that its process sees, and makes it the current one: of several that of its
// place on the node; of one, that one, which the launcher has chosen. Errors (Failure::run): none is there.
int choose_device(const Launch& launch) {
  const int device = launch.local_rank % cuda::device_count("rank " + std::to_string(launch.rank) + ": ");
  cuda::check(cudaSetDevice(device), "choosing GPU " + std::to_string(device));
  return device;
}

std::string gpu_uuid(int device) {
  cudaDeviceProp properties{};
  if (cudaGetDeviceProperties(&properties, device) != cudaSuccess) return {};
  std::string text = "GPU-";
  for (const char byte : properties.uuid.bytes) text += fmt::format("{:02x}", static_cast<unsigned char>(byte));
  return text;
}

// NCCL takes ranks of one GPU where it is told to, and where it is told that they are on different nodes.
bool ranks_may_share() {
  const char* const several = std::getenv("NCCL_MULTI_RANK_GPU_ENABLE");
  return NcclSet::shares_gpus() && several != nullptr && std::string_view(several) == "1";
}

}  // namespace

int seated_device(int ranks_per_node, Rendezvous& rendezvous) {
  const int device = choose_device(rendezvous.launch());
  const std::string own = pack_texts({node_identity(), gpu_uuid(device), host_name(), ranks_may_share() ? "1" : ""});
  std::vector<RankSeat> seats;
  bool shared = true;
  for (const std::string& text : rendezvous.all_gather(own, "looking where ranks run")) {
    const std::vector<std::string> parts = unpack_texts(text);
    if (parts.size() != 4) throw run_error("a rank did not report where it runs", "Do all ranks run the same build?");
    seats.push_back({parts[0], parts[1], parts[2]});
    shared = shared && !parts[3].empty();
  }
  check_layout(seats, ranks_per_node, shared);
  return device;
}

Timeline::Measured gpu_facts(int device) {
  Timeline::Measured facts;
  cudaDeviceProp properties{};
  if (cudaGetDeviceProperties(&properties, device) == cudaSuccess) facts.device = properties.name;
  facts.driver = cuda::driver_version();
  int runtime = 0;
  if (cudaRuntimeGetVersion(&runtime) == cudaSuccess) facts.cuda = cuda::version_text(runtime);
  facts.nccl = NcclSet::version();
  facts.transport = "nccl";
  return facts;
}

std::int64_t free_memory() {
  std::size_t free = 0, total = 0;
  cuda::check(cudaMemGetInfo(&free, &total), "memory of the GPU");
  return static_cast<std::int64_t>(free);
}

std::string pci_address(int device) {
  std::array<char, 32> address{};
  return cudaDeviceGetPCIBusId(address.data(), static_cast<int>(address.size()), device) == cudaSuccess ? address.data()
                                                                                                        : "";
}

}  // namespace shardsim
