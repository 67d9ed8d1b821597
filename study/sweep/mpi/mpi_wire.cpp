#include "study/sweep/mpi/mpi_wire.h"

#include <dlfcn.h>
#include <mpi.h>

#include <cstdio>

namespace {

// SimGrid's library, which the program is linked with, has an MPI of its own by the same names, and a call by name
// would reach that one. Those that dlsym() finds from this file are the functions of the MPI that it is linked with.
struct MpiFunctions {
  decltype(&MPI_Init) init = nullptr;
  decltype(&MPI_Comm_set_errhandler) set_errhandler = nullptr;
  decltype(&MPI_Comm_rank) rank = nullptr;
  decltype(&MPI_Comm_size) size = nullptr;
  decltype(&MPI_Send) send = nullptr;
  decltype(&MPI_Iprobe) probe = nullptr;
  decltype(&MPI_Get_count) count = nullptr;
  decltype(&MPI_Recv) receive = nullptr;
  decltype(&MPI_Finalize) finalize = nullptr;
  decltype(&MPI_Error_string) error_string = nullptr;
};

MpiFunctions g_mpi;  // the file is loaded once, for the process is one rank

template <typename Function>
bool find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(::dlsym(library, name));
  return function != nullptr;
}

bool find_all(void* library) {
  return find(library, "MPI_Init", g_mpi.init) && find(library, "MPI_Comm_set_errhandler", g_mpi.set_errhandler) &&
         find(library, "MPI_Comm_rank", g_mpi.rank) && find(library, "MPI_Comm_size", g_mpi.size) &&
         find(library, "MPI_Send", g_mpi.send) && find(library, "MPI_Iprobe", g_mpi.probe) &&
         find(library, "MPI_Get_count", g_mpi.count) && find(library, "MPI_Recv", g_mpi.receive) &&
         find(library, "MPI_Finalize", g_mpi.finalize) && find(library, "MPI_Error_string", g_mpi.error_string);
}

int start(int* rank, int* size) {
  int code = g_mpi.init(nullptr, nullptr);
  if (code == MPI_SUCCESS) code = g_mpi.set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  if (code == MPI_SUCCESS) code = g_mpi.rank(MPI_COMM_WORLD, rank);
  return code == MPI_SUCCESS ? g_mpi.size(MPI_COMM_WORLD, size) : code;
}

int send(int to, int tag, const void* bytes, int count) {
  return g_mpi.send(bytes, count, MPI_BYTE, to, tag, MPI_COMM_WORLD);
}

int look(int tag, int* from, int* count) {
  int there = 0;
  MPI_Status status;
  *from = -1;
  const int code = g_mpi.probe(MPI_ANY_SOURCE, tag, MPI_COMM_WORLD, &there, &status);
  if (code != MPI_SUCCESS || there == 0) return code;
  *from = status.MPI_SOURCE;
  return g_mpi.count(&status, MPI_BYTE, count);
}

int receive(int from, int tag, void* bytes, int count) {
  return g_mpi.receive(bytes, count, MPI_BYTE, from, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

int end() {
  return g_mpi.finalize();
}

void text_of(int code, char* text, int room) {
  char words[MPI_MAX_ERROR_STRING + 1] = {};
  int length = 0;
  g_mpi.error_string(code, words, &length);
  std::snprintf(text, static_cast<std::size_t>(room), "%s", words);
}

}  // namespace

const ShardsimMpiWire* shardsim_mpi_wire(void* library) {
  static const ShardsimMpiWire wire = {start, send, look, receive, end, text_of};
  return find_all(library) ? &wire : nullptr;
}
