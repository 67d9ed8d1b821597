#pragma once

#include <cstddef>

#include "base/fields/fields.h"

namespace shardsim {

// The keys of a workload file as its structs say them, for schemas and reference pages.
Shape workload_shape();

// `tables_from`: tables of another workload in place of own ones. What it takes is known once that workload is loaded.
struct TablesFrom {
  static constexpr std::size_t kMostTables = 100'000;
  const Tree *workload = nullptr, *tables = nullptr;
  const Tree *dims = nullptr, *dtype = nullptr, *kind = nullptr;  // null: those of the tables

  void keys(Fields& map);
};

}  // namespace shardsim
