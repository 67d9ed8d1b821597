#pragma once

// What a sweep needs of MPI, behind functions that know none of it: they lie in a file of their own
// (shardsim_mpi.so), which is loaded when mpirun has started the program. So the program itself runs where no MPI is.
// All functions give 0, or a code of MPI's that `text_of` puts into words.
extern "C" {
struct ShardsimMpiWire {
  int (*start)(int* rank, int* size);
  int (*send)(int to, int tag, const void* bytes, int count);
  // Whether a message of this tag is there: `from` is its sender, or -1.
  int (*look)(int tag, int* from, int* count);
  int (*receive)(int from, int tag, void* bytes, int count);
  int (*end)(void);
  void (*text_of)(int code, char* text, int room);
};

// The one function of the file; `library` is the file as dlopen() gives it. Null: its MPI lacks a function.
const ShardsimMpiWire* shardsim_mpi_wire(void* library);
}
