#pragma once

#include <string>
#include <vector>

#include "base/tree/json_fields.h"
#include "models/workload/table_fields.h"
#include "program/program.h"

namespace shardsim {

// Words of enums in program files.
std::vector<std::string> words_of(OpClass);
std::vector<std::string> words_of(OpRole);
std::vector<std::string> words_of(ByteMatrix::Kind);
std::vector<std::string> words_of(RowCut);
std::vector<std::string> words_of(Strategy);

// A table as a program file states it (docs/formats/program.md), with the bytes of an id and the seed of the hash,
// which are the same in all of them. Statements of the workload beyond the least that an executor needs are written
// only where they differ from the default, so that simple programs stay short.
void table_fields(JsonReader& map, Table& table, int& id_bytes, std::uint64_t& hash_seed);
void table_fields(JsonWriter& map, Table& table, int& id_bytes, std::uint64_t& hash_seed);

}  // namespace shardsim
