// NCCL where there is none: a build for one GPU has everything but communicators. Its header is the list of what the
// validator calls (tests/validate/execute/cuda_on_cpu/include/nccl.h).
#include <nccl.h>

ncclResult_t ncclGetVersion(int*) {
  return ncclSystemError;
}
const char* ncclGetErrorString(ncclResult_t) {
  return "this build has no NCCL";
}
const char* ncclGetLastError(ncclComm_t) {
  return "build where nccl.h is found, or name the folder above it in NCCL_HOME";
}
ncclResult_t ncclGetUniqueId(ncclUniqueId*) {
  return ncclSystemError;
}
ncclResult_t ncclCommInitRankConfig(ncclComm_t*, int, ncclUniqueId, int, ncclConfig_t*) {
  return ncclSystemError;
}
ncclResult_t ncclCommGetAsyncError(ncclComm_t, ncclResult_t*) {
  return ncclSystemError;
}
ncclResult_t ncclCommAbort(ncclComm_t) {
  return ncclSuccess;
}
ncclResult_t ncclGroupStart() {
  return ncclSystemError;
}
ncclResult_t ncclGroupEnd() {
  return ncclSystemError;
}
ncclResult_t ncclSend(const void*, std::size_t, ncclDataType_t, int, ncclComm_t, cudaStream_t) {
  return ncclSystemError;
}
ncclResult_t ncclRecv(void*, std::size_t, ncclDataType_t, int, ncclComm_t, cudaStream_t) {
  return ncclSystemError;
}
ncclResult_t ncclAllReduce(const void*, void*, std::size_t, ncclDataType_t, ncclRedOp_t, ncclComm_t, cudaStream_t) {
  return ncclSystemError;
}
ncclResult_t ncclReduceScatter(const void*, void*, std::size_t, ncclDataType_t, ncclRedOp_t, ncclComm_t, cudaStream_t) {
  return ncclSystemError;
}
ncclResult_t ncclAllGather(const void*, void*, std::size_t, ncclDataType_t, ncclComm_t, cudaStream_t) {
  return ncclSystemError;
}
ncclResult_t ncclBroadcast(const void*, void*, std::size_t, ncclDataType_t, int, ncclComm_t, cudaStream_t) {
  return ncclSystemError;
}
