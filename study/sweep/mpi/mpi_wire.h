#pragma once

// The functions of MPI that a sweep needs, with types that do not mention MPI. They are in a separate file
// (shardsim_mpi.so), which is loaded only if mpirun started the program, so that the program also runs on machines
// without MPI. All functions return 0, or an error code of MPI, which `text_of` turns into words.
extern "C" {
struct ShardsimMpiWire {
  int (*start)(int* rank, int* size);
  int (*send)(int to, int tag, const void* bytes, int count);
  // Tells whether a message of this tag is there: `from` is its sender, or -1.
  int (*look)(int tag, int* from, int* count);
  int (*receive)(int from, int tag, void* bytes, int count);
  int (*end)(void);
  void (*text_of)(int code, char* text, int room);
};

// The one function of the file; `library` is the file as dlopen() gives it. Null: its MPI lacks a function.
const ShardsimMpiWire* shardsim_mpi_wire(void* library);
}
