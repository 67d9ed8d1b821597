#include "sim/sweep/mpi/mpi_wire.h"

#include <mpi.h>

#include <cstdio>

namespace {

int start(int* rank, int* size) {
  int code = MPI_Init(nullptr, nullptr);
  if (code == MPI_SUCCESS) code = MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  if (code == MPI_SUCCESS) code = MPI_Comm_rank(MPI_COMM_WORLD, rank);
  return code == MPI_SUCCESS ? MPI_Comm_size(MPI_COMM_WORLD, size) : code;
}

int send(int to, int tag, const void* bytes, int count) {
  return MPI_Send(bytes, count, MPI_BYTE, to, tag, MPI_COMM_WORLD);
}

int look(int tag, int* from, int* count) {
  int there = 0;
  MPI_Status status;
  *from = -1;
  const int code = MPI_Iprobe(MPI_ANY_SOURCE, tag, MPI_COMM_WORLD, &there, &status);
  if (code != MPI_SUCCESS || there == 0) return code;
  *from = status.MPI_SOURCE;
  return MPI_Get_count(&status, MPI_BYTE, count);
}

int receive(int from, int tag, void* bytes, int count) {
  return MPI_Recv(bytes, count, MPI_BYTE, from, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

int end() {
  return MPI_Finalize();
}

void text_of(int code, char* text, int room) {
  char words[MPI_MAX_ERROR_STRING + 1] = {};
  int length = 0;
  MPI_Error_string(code, words, &length);
  std::snprintf(text, static_cast<std::size_t>(room), "%s", words);
}

}  // namespace

const ShardsimMpiWire* shardsim_mpi_wire() {
  static const ShardsimMpiWire wire = {start, send, look, receive, end, text_of};
  return &wire;
}
