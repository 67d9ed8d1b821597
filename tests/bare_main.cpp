#include <cstdio>
#include <exception>

#include "sim/program_file.h"
#include "validate/execute/fusion.h"
#include "validate/execute/id_streams.h"

// Prints how many ids rank 0 asks for through each lookup of a program file: what a bare compute node must manage.
int main(int arguments, char** argument) {
  using namespace shardsim;
  if (arguments != 2) return 2;
  try {
    const Program program = read_program_file(argument[1]);
    ProgramPlaces places;
    places.program.source = argument[1];
    for (const Fusion& fusion : fusions_of(program, places)) {
      const Op& lookup = program.ops[static_cast<std::size_t>(fusion.lookup)];
      std::printf("%s %zu\n", lookup.name.c_str(), draw_ids(program, fusion, 0, 0).ids.size());
    }
  } catch (const std::exception& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return 1;
  }
  return 0;
}
