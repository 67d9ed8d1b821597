#pragma once

#include <string>
#include <vector>

#include "accuracy/measurements/kernels/kernel_rows.h"
#include "base/tree/tree.h"

namespace shardsim {

// Facts about rows beside those that they state themselves (docs/formats/comparisons.md, map of kernel rows).
struct KernelMap {
  struct Rule {
    std::string source, op, software, gpu_cell, quality;  // each is contained in the row's cell
    std::string gpu;                                      // the GPU that such rows are taken to be of; "": out of model
    std::string reason;
    bool covers(const KernelRow& row) const;
  };
  std::string path;
  std::vector<Rule> gpus, out_of_model;
};

// Errors: Failure::input with place.
KernelMap read_kernel_map(const std::string& path);
KernelMap kernel_map_from_tree(const Tree& tree, const std::string& path);

}  // namespace shardsim
