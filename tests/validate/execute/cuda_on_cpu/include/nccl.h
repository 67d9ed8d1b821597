#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

// The part of NCCL that the validator calls, between processes of one host: a message is a file in a folder that the
// communicator's name is the path of. Calls are done when their group ends. Sums are of fp32.

struct ncclComm;
using ncclComm_t = ncclComm*;
struct ncclUniqueId {
  char internal[128];
};
enum ncclResult_t { ncclSuccess = 0, ncclSystemError = 2, ncclInvalidUsage = 5, ncclInProgress = 7 };
enum ncclDataType_t { ncclUint8, ncclHalf, ncclFloat, ncclBfloat16 };
enum ncclRedOp_t { ncclSum };
struct ncclConfig_t {
  int unused;
};
#define NCCL_CONFIG_INITIALIZER \
  { 0 }

ncclResult_t ncclGetVersion(int* version);
const char* ncclGetErrorString(ncclResult_t result);
const char* ncclGetLastError(ncclComm_t communicator);
ncclResult_t ncclGetUniqueId(ncclUniqueId* id);
ncclResult_t ncclCommInitRankConfig(ncclComm_t* communicator, int members, ncclUniqueId id, int position,
                                    ncclConfig_t* config);
ncclResult_t ncclCommGetAsyncError(ncclComm_t communicator, ncclResult_t* result);
ncclResult_t ncclCommAbort(ncclComm_t communicator);
ncclResult_t ncclGroupStart();
ncclResult_t ncclGroupEnd();
ncclResult_t ncclSend(const void* data, std::size_t count, ncclDataType_t type, int peer, ncclComm_t communicator,
                      cudaStream_t stream);
ncclResult_t ncclRecv(void* data, std::size_t count, ncclDataType_t type, int peer, ncclComm_t communicator,
                      cudaStream_t stream);
ncclResult_t ncclAllReduce(const void* in, void* out, std::size_t count, ncclDataType_t type, ncclRedOp_t op,
                           ncclComm_t communicator, cudaStream_t stream);
ncclResult_t ncclReduceScatter(const void* in, void* out, std::size_t received, ncclDataType_t type, ncclRedOp_t op,
                               ncclComm_t communicator, cudaStream_t stream);
ncclResult_t ncclAllGather(const void* in, void* out, std::size_t sent, ncclDataType_t type, ncclComm_t communicator,
                           cudaStream_t stream);
ncclResult_t ncclBroadcast(const void* in, void* out, std::size_t count, ncclDataType_t type, int root,
                           ncclComm_t communicator, cudaStream_t stream);
