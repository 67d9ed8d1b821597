#include "program/program_table.h"

#include <fmt/core.h>

namespace shardsim {
namespace {

void dtype_fields(auto& map, Dtype& dtype) {
  map.field("dtype", dtype);
  int bytes = dtype_bytes(dtype);
  map.field("dtype_bytes", bytes);
  if (bytes == dtype_bytes(dtype)) return;
  throw input_error(map.place_of("dtype_bytes"), fmt::format("'dtype_bytes' does not fit dtype {}", dtype_name(dtype)),
                    fmt::format("Write {}.", dtype_bytes(dtype)));
}

void fields_of_table(auto& map, Table& table, int& id_bytes, std::uint64_t& hash_seed) {
  map.field("name", table.name);
  map.field("rows", table.rows);
  map.field("dim", table.dim);
  dtype_fields(map, table.dtype);
  map.field("id_bytes", id_bytes);
  table_law_fields(map, table);
  map.must_have("hash");
  map.group("hash", [&](auto& inner) {
    inner.constant("name", "feistel_splitmix/1");
    inner.field("seed", hash_seed);
    inner.take("key", table.row_key);
  });
}

}  // namespace

std::vector<std::string> words_of(OpClass) {
  return op_class_names();
}
std::vector<std::string> words_of(OpRole) {
  return op_role_names();
}
std::vector<std::string> words_of(ByteMatrix::Kind) {
  return {"even", "by_destination", "by_source", "dense"};
}
std::vector<std::string> words_of(RowCut) {
  return {"hashed", "blocks", "modulo"};
}
std::vector<std::string> words_of(Strategy) {
  std::vector<std::string> words = strategy_names();  // these are alphabetical
  for (std::size_t index = 0; index < words.size(); ++index) words[index] = strategy_name(static_cast<Strategy>(index));
  return words;
}

void table_fields(JsonWriter& map, Table& table, int& id_bytes, std::uint64_t& hash_seed) {
  fields_of_table(map, table, id_bytes, hash_seed);
}

void table_fields(JsonReader& map, Table& table, int& id_bytes, std::uint64_t& hash_seed) {
  table.place = map.place();
  fields_of_table(map, table, id_bytes, hash_seed);
}

}  // namespace shardsim
