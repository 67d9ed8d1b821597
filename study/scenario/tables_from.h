#pragma once

#include <functional>
#include <string>

#include "base/tree/tree.h"

namespace shardsim {

// The workload key `tables_from: {workload, tables, dims, dtype}` as the list `tables` that it stands for
// (docs/formats/scenario.md, tables of another workload): of that workload's tables, copies counted one by one, those
// with these numbers, from 0 and in this order, each with its own number of columns. A table that is picked again gets
// the name NAME.2, NAME.3 ... `load` returns a workload whole, by name or path. Errors (Failure::input, at the place):
// keys missing or unknown, numbers beyond the tables there, a list of dims of another length.
Tree picked_tables(const Tree& tables_from, const std::function<const Tree&(const Tree& name)>& load);

}  // namespace shardsim
