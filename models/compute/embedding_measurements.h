#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/csv.h"

namespace shardsim {

// A row of an embedding measurement table (docs/formats/measurements.md) whose sizes are all numbers.
struct EmbeddingRow {
  enum class Kind { lookup, update, gather, scatter, gemm, copy, empty, sort };
  Place place;
  Kind kind = Kind::lookup;
  std::string gpu, optimizer, dtype;
  double tables = 0, rows = 0, dim = 0, batch = 0, pooling = 0;  // gemm: batch m, dim n, rows k; sort: batch
                                                                 // pairs, dim bytes of a value, rows keys
  double time_us = 0;
  double traffic_bytes = 0;  // as the table states it; copy: read plus written
  bool uniform = true, warm = false;

  bool has_tables() const { return kind < Kind::gemm; }
  bool is_update() const { return kind == Kind::update || kind == Kind::scatter; }
  double lookups() const { return tables * batch * pooling; }
  double row_bytes() const;
  double distinct_rows() const;  // expected, uniform indices, over all tables
  // As the lowering counts them (docs/lowering.md, bytes in device memory): a gather reads and writes its rows, a
  // pooled lookup reads rows and writes bags; an update reads a gradient per lookup, and reads and writes each distinct
  // row with its state.
  double hbm_bytes() const;
  double flops() const { return kind == Kind::gemm ? 2 * batch * dim * rows : 0; }
  std::string shape() const;  // tables,rows,dim,batch,pooling,dtype: rows of one text are never split
  bool is_check() const;      // of the third that no fit looks at: hash(shape) mod 3 = 0
};

bool is_embedding_table(const CsvTable& table);  // by its header

struct EmbeddingTable {
  std::vector<EmbeddingRow> rows;
  int poor = 0;      // of quality C, left out
  int unusable = 0;  // of another kind of operation, or with a size that is no number: left out
};

// One row of such a table, of the kind that it is known to be; nothing where a size that the kind needs is no number
// ("mixed"). Errors (Failure::input, with file and line): a time that is not from 1e-6 to 1e12 us, a size that is
// neither 0 nor from 1 (a pooling factor: 1e-6) to 1e20 (tables and elements of a row: 1e9).
std::optional<EmbeddingRow> read_embedding_row(const CsvTable& table, const CsvTable::Row& cells,
                                               EmbeddingRow::Kind kind);

// Refuses a table without a column that is asked for. Errors: as require_columns().
void require_embedding_columns(const CsvTable& table);

// Errors (Failure::input, with file and line): a missing column, and as read_embedding_row().
EmbeddingTable read_embedding_table(const CsvTable& table);

}  // namespace shardsim
