#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/tree/tree.h"
#include "models/compute/compute_model.h"
#include "models/compute/embedding_measurements.h"

namespace shardsim {

enum class KernelKind { lookup, update, lookup_and_update, sort, product, copy };
std::string_view kernel_kind_name(KernelKind kind);
inline constexpr KernelKind kAllKernelKinds[] = {KernelKind::lookup, KernelKind::update,  KernelKind::lookup_and_update,
                                                 KernelKind::sort,   KernelKind::product, KernelKind::copy};

// One published timing of a kernel: a row of a table of embedding measurements (docs/formats/measurements.md).
struct KernelRow {
  EmbeddingRow sizes;  // and place, GPU as the table names it, time; sizes are 0 where the row is out of the model
  KernelKind kind = KernelKind::lookup;
  std::string id, op, quality, software, source;
  bool names_gpu = true;
  bool only_keys = false;    // sort
  bool in_place = false;     // update
  std::string out_of_model;  // why no prediction is claimed, by what is known before predicting; "" where one is

  double operand_bytes() const;  // rows of all lookups, pairs, operands of a product, bytes copied
  std::string shape() const;     // for people
  // The work that the kernels ask of a device, one after the other.
  std::vector<ComputeWork> works() const;
};

// A file, or all .csv files of a folder in the order of their names. Errors (Failure::input, with file and line): a
// column missing, among them one without its unit; a row without GPU; an operation of an unknown kind (lists them); a
// time or a size out of range, as read_embedding_row(); no such file in the folder.
std::vector<KernelRow> read_kernel_rows(const std::string& path);
std::vector<KernelRow> kernel_rows_of(std::string_view csv, const std::string& source);

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
