#include "validate/microbench/bench_point.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace shardsim {
namespace {

constexpr std::array<std::string_view, 10> kOpNames{"tbe_fwd",
                                                    "tbe_bwd",
                                                    "tbe_fwd+bwd",
                                                    "nobag_fwd",
                                                    "nobag_bwd",
                                                    "gemm",
                                                    "sort_pairs",
                                                    "copy, sized",
                                                    "host_copy, to the device",
                                                    "host_copy, to the host"};

std::string alike(const BenchPoint& point, std::int64_t BenchPoint::TableShape::*member) {
  const std::int64_t first = point.tables.front().*member;
  const bool all = std::ranges::all_of(point.tables, [&](const auto& table) { return table.*member == first; });
  return all ? fmt::format("{}", first) : "mixed";
}

template <typename Figure>
std::int64_t sum(const std::vector<BenchPoint::TableShape>& tables, const Figure& figure) {
  std::int64_t all = 0;
  for (const BenchPoint::TableShape& table : tables) all += figure(table);
  return all;
}

// Elements from where a table begins to where the next one does: each begins at a cache line, as the allocations of
// frameworks do. Behind a table that ends inside a line, rows of whole lines would lie on one line more.
std::int64_t stretch(const BenchPoint::TableShape& table, ElementType type) {
  const std::int64_t in_line = kCacheLine / element_bytes(type);
  return (table.rows * table.dim + in_line - 1) / in_line * in_line;
}

}  // namespace

std::string_view bench_op_name(BenchOp op) {
  return kOpNames.at(static_cast<std::size_t>(op));
}

std::string_view element_name(ElementType type) {
  if (type == ElementType::fp32) return "fp32";
  return type == ElementType::fp16 ? "fp16" : "bf16";
}

std::string_view precision_name(Precision precision) {
  constexpr std::array<std::string_view, 4> kNames{"fp32", "tf32", "bf16", "fp16"};
  return kNames.at(static_cast<std::size_t>(precision));
}

std::string_view optimizer_name(RowOptimizer optimizer) {
  constexpr std::array<std::string_view, 5> kNames{"none", "sgd", "rowwise_adagrad", "adam", "adagrad"};
  return kNames.at(static_cast<std::size_t>(optimizer));
}

std::string IndexLaw::text() const {
  return zipf > 0 ? fmt::format("zipf {:g}", zipf) : "uniform";
}

std::int64_t BenchPoint::lookups() const {
  return sum(tables, [&](const TableShape& table) { return batch * table.pooling; });
}

std::int64_t BenchPoint::row_bytes() const {
  return sum(tables, [&](const TableShape& table) { return batch * table.pooling * table.dim * element_bytes(type); });
}

std::int64_t BenchPoint::table_bytes() const {
  return sum(tables, [&](const TableShape& table) { return stretch(table, type) * element_bytes(type); });
}

std::int64_t BenchPoint::need_bytes() const {
  constexpr std::int64_t kSorting = 48;  // keys and numbers, twice, and what the sort needs
  if (op == BenchOp::gemm) return element_bytes(elements_of(precision)) * (m * k + k * n + m * n);
  if (op == BenchOp::sort) return kSorting * m;
  if (is_copy()) return 2 * m;
  const std::int64_t vectors = sum(tables, [&](const TableShape& table) {
    return 4 * (is_sequence() ? batch * table.pooling : batch) * table.dim * (op == BenchOp::lookup_update ? 2 : 1);
  });
  return table_bytes() + (weighted ? 12 : 8) * lookups() + vectors + state_bytes() +
         (has_update() ? 40 * lookups() : 0);  // sorted pairs, twice, and what the sort needs
}

std::int64_t BenchPoint::output_bytes() const {
  if (op == BenchOp::update || op == BenchOp::scatter) return 0;
  const std::int64_t values = (is_sequence() ? lookups() : batch) * table_batch().output_dim();
  return values * (is_sequence() ? element_bytes(type) : 4);
}

std::int64_t BenchPoint::gradients() const {
  return has_update() ? (is_sequence() ? lookups() : batch) * table_batch().output_dim() : 0;
}

std::int64_t BenchPoint::state_bytes() const {
  if (!has_update()) return 0;
  return sum(tables, [&](const TableShape& table) {
    return static_cast<std::int64_t>(sizeof(float) * state_elements(optimizer, table.rows, table.dim));
  });
}

OptimizerSettings BenchPoint::settings() const {
  OptimizerSettings settings;
  settings.optimizer = optimizer;
  return settings;
}

TableBatch BenchPoint::table_batch() const {
  TableBatch batch_of;
  batch_of.type = type;
  batch_of.bags = batch;
  std::int64_t begin = 0;
  for (const TableShape& table : tables) {
    batch_of.rows.push_back(table.rows);
    batch_of.dim.push_back(table.dim);
    batch_of.begin.push_back(begin);
    begin += stretch(table, type);
  }
  return batch_of;
}

PointColumns BenchPoint::columns() const {
  if (is_copy()) return {};
  if (!has_tables()) {
    const std::string_view said = op == BenchOp::sort ? "uint64" : precision_name(precision);
    return {"", fmt::format("{}", k), fmt::format("{}", n), fmt::format("{}", m), "", std::string(said)};
  }
  return {fmt::format("{}", tables.size()), alike(*this, &TableShape::rows),    alike(*this, &TableShape::dim),
          fmt::format("{}", batch),         alike(*this, &TableShape::pooling), std::string(element_name(type))};
}

std::string BenchPoint::shape() const {
  const PointColumns c = columns();
  return c.tables + "," + c.rows + "," + c.dim + "," + c.batch + "," + c.pooling + "," + c.dtype;
}

}  // namespace shardsim
