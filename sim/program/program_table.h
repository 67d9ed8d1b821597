#pragma once

#include <string>
#include <vector>

#include "base/tree/map_reader.h"
#include "models/workload/workload.h"

namespace shardsim {

// A table as a program file states it (docs/formats.md, program files): `hash` and `id_bytes` belong to the Program.
struct ProgramTable {
  Table table;
  std::int64_t id_bytes = 8;
  std::uint64_t hash_seed = 1;
};

ProgramTable read_program_table(const Tree& tree, const std::string& path);

// What the file leaves out when it is so: one plain feature named after the table; a length that follows from the
// pooling factors, or from probabilities that are absolute (0 when neither says it).
std::vector<Feature> default_features(const std::string& table_name);
double default_average_length(const Table& table);

}  // namespace shardsim
