#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "validate/execute/kernels/embedding.h"

namespace shardsim {

enum class BenchOp {
  lookup,         // pooled_lookup
  update,         // update_pooled: backward of the pooled lookup with its optimizer, fused
  lookup_update,  // one after the other, in one timing
  gather,         // gather_rows, of the one table
  scatter,        // update_rows, of the one table
  gemm,           // C[m][n] = A[m][k] B[k][n], in a precision
  sort,           // m pairs of a key below k and a number of 4 bytes, by their keys
  copy,           // m bytes of the device's memory
  to_device,      // m bytes from page-locked memory of the host
  to_host         // and back
};
std::string_view bench_op_name(BenchOp op);

std::string_view element_name(ElementType type);          // "fp32", "fp16", "bf16"
std::string_view precision_name(Precision precision);     // "fp32", "tf32", "bf16", "fp16"
std::string_view optimizer_name(RowOptimizer optimizer);  // as workload files have it; "none"

// The law by which indices are drawn: every row alike, or by Zipf's law over the popularity position, positions spread
// over the table by a seeded permutation so that hot rows are not neighbours.
struct IndexLaw {
  double zipf = 0;  // exponent; 0: uniform
  bool operator==(const IndexLaw&) const = default;
  std::string text() const;  // "uniform", "zipf 1.05"
};

// The sizes of a point as the texts of a data set's columns (docs/formats/measurements.md): "mixed" where tables
// differ; gemm and sort: rows k, dim n, batch m; copies have none.
struct PointColumns {
  std::string tables, rows, dim, batch, pooling, dtype;
};

// One point of the sweep: what a device is timed on.
struct BenchPoint {
  struct TableShape {
    std::int64_t rows = 0, dim = 0;
    std::int64_t pooling = 1;  // indices of each bag; gather and scatter: indices per sample
    bool operator==(const TableShape&) const = default;
  };
  BenchOp op = BenchOp::lookup;
  std::vector<TableShape> tables;  // fused into one call; gather and scatter: one
  std::int64_t batch = 0;          // bags per table
  ElementType type = ElementType::fp32;
  RowOptimizer optimizer = RowOptimizer::none;
  IndexLaw law;
  bool weighted = false;                  // a lookup: every row times a weight of its own
  bool warm = false;                      // the same batch again without a flush
  std::int64_t m = 0, n = 0, k = 0;       // gemm, and as BenchOp says
  Precision precision = Precision::fp32;  // gemm
  bool operator==(const BenchPoint&) const = default;

  bool has_tables() const { return op < BenchOp::gemm; }
  bool has_update() const { return op == BenchOp::update || op == BenchOp::lookup_update || op == BenchOp::scatter; }
  bool is_copy() const { return op >= BenchOp::copy; }
  bool is_sequence() const { return op == BenchOp::gather || op == BenchOp::scatter; }
  std::int64_t lookups() const;       // over all tables
  std::int64_t row_bytes() const;     // lookups x bytes of their rows, repeated ones counted again
  std::int64_t table_bytes() const;   // of all tables, each in whole cache lines
  std::int64_t need_bytes() const;    // what a device holds for it: tables, states, indices, outputs, gradients
  std::int64_t output_bytes() const;  // of vectors or rows looked up; 0: none
  std::int64_t gradients() const;     // numbers that an update takes; 0: none
  std::int64_t state_bytes() const;   // of its optimizer
  OptimizerSettings settings() const;
  TableBatch table_batch() const;  // the tables one after the other, each from a cache line on, the first at element 0
  PointColumns columns() const;
  // The columns with commas between: not the law, the optimizer or the repetition, so that points of one text stay
  // together when a data set is cut into a part to fit and a part to check.
  std::string shape() const;
};

}  // namespace shardsim
