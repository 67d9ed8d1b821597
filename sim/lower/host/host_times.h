#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "models/software/software.h"
#include "program/program.h"

namespace shardsim {

// The work of a rank's host beside what stands in the Program.
struct HostWork {
  const Software* software = nullptr;
  double time_factor = 1;           // of its host times, as the cluster has it
  std::map<int, double> operators;  // [operation] of the dense part, how many operators of the framework it is
  double features = 0;              // of the input, over all tables
  double parameter_tensors = 0;     // of the dense part
};

// Host time of one operation: what has to be over before its first kernel can start, and what the host goes on with for
// its further kernels, while the GPU works.
struct HostTime {
  Seconds before, behind;
};

// Kernels of an operation on the GPU, of which each is a launch or a node of a graph; a collective is one.
double kernels_of(const Op& op);

// Fills in Op::kernels of compute operations that do not state theirs, by their roles (docs/lowering.md, "The host").
void count_kernels(Program& program);

// [operation] What the host does for each, were it launched by itself; nothing yet of what it does once per iteration.
std::vector<HostTime> host_times(const Program& program, const HostWork& work);

}  // namespace shardsim
