#include <algorithm>
#include <array>

#include "base/error.h"
#include "base/text.h"
#include "validate/microbench/microbench.h"

namespace shardsim {
namespace {

struct Batch {
  std::int64_t pooling, bags;
};

// Tables that are alike in one call.
struct Alike {
  int tables;
  BenchPoint::TableShape shape;
  std::int64_t bags;
};

// The values on the axes of a grid. Tables are far above any cache, and hold more rows than a batch looks up.
struct GridAxes {
  std::int64_t rows;
  std::vector<std::int64_t> dims;
  std::vector<Batch> batches;
  std::vector<Alike> alike;
  std::vector<std::int64_t> rows_at_once;  // of gathers and their updates
  std::vector<std::int64_t> pairs;         // of sorts
  std::vector<std::array<std::int64_t, 3>> products;
  std::vector<std::int64_t> copied;  // bytes
};

GridAxes full_axes() {
  // Products: the layers of DLRM-DCNv2 at 6,912 samples, and squares up to where tensor cores are at their best.
  return {.rows = 4'000'000,
          .dims = {128, 64, 256, 32, 512, 16},
          .batches = {{30, 32768}, {1, 262144}, {10, 65536}, {100, 16384}},
          .alike = {{26, {1'000'000, 128, 1}, 4096},
                    {60, {1'000'000, 32, 10}, 4096},
                    {8, {1'000'000, 64, 20}, 16384},
                    {60, {1'000'000, 8, 10}, 4096},
                    {26, {1'000'000, 128, 1}, 512},
                    {26, {1'000'000, 64, 1}, 65536},
                    {60, {1'000'000, 32, 10}, 512},
                    {40, {1'000'000, 64, 4}, 16384},
                    {120, {100'000, 16, 5}, 2048},
                    {60, {100'000, 128, 10}, 4096},
                    {8, {4'000'000, 16, 20}, 65536}},
          .rows_at_once = {1 << 20, 1 << 16, 1 << 12},
          .pairs = {1 << 22, 1 << 20, 1 << 18, 1 << 16, 1 << 24},
          .products = {{6912, 1024, 3456},
                       {6912, 1024, 1024},
                       {6912, 512, 1024},
                       {6912, 512, 3456},
                       {6912, 3456, 512},
                       {6912, 256, 512},
                       {6912, 128, 256},
                       {4096, 4096, 4096},
                       {8192, 8192, 8192},
                       {1024, 1024, 1024},
                       {512, 512, 512},
                       {2048, 64, 256}},
          .copied = {1 << 30, 1 << 26, 1 << 22, 1 << 18, 1 << 14}};
}

GridAxes small_axes() {
  return {.rows = 2000,
          .dims = {64, 16},
          .batches = {{4, 16}},
          .alike = {{3, {500, 32, 2}, 16}},
          .rows_at_once = {64},
          .pairs = {512},
          .products = {{16, 16, 16}},
          .copied = {1 << 16}};
}

constexpr std::array kEveryOptimizer{RowOptimizer::rowwise_adagrad, RowOptimizer::sgd, RowOptimizer::adagrad,
                                     RowOptimizer::adam};

class Grid {
 public:
  explicit Grid(GridAxes axes) : axes_(std::move(axes)) {}

  void lookups(ElementType type, double zipf) {
    for (const Batch& batch : axes_.batches)
      for (const std::int64_t dim : axes_.dims) table(BenchOp::lookup, dim, batch, type, zipf, RowOptimizer::none);
  }
  // Those of many rows a bag, where a weight is read for every one of them.
  void weighted_lookups() {
    for (const std::int64_t dim : axes_.dims) {
      table(BenchOp::lookup, dim, axes_.batches.front(), ElementType::fp32, 0, RowOptimizer::none);
      points_.back().weighted = true;
    }
  }
  void updates(RowOptimizer optimizer, ElementType type, double zipf) {
    for (const Batch& batch : axes_.batches) {
      if (batch.pooling == 100) continue;  // their sums are those of 30
      for (const std::int64_t dim : axes_.dims) table(BenchOp::update, dim, batch, type, zipf, optimizer);
    }
  }
  // Lookups and updates of many tables, by one law.
  void many_tables(double zipf) {
    for (const Alike& alike : axes_.alike)
      for (const BenchOp op : {BenchOp::lookup, BenchOp::update}) {
        table(op, alike.shape.dim, {alike.shape.pooling, alike.bags}, ElementType::fp32, zipf,
              op == BenchOp::update ? RowOptimizer::rowwise_adagrad : RowOptimizer::none);
        points_.back().tables.assign(static_cast<std::size_t>(alike.tables), alike.shape);
      }
  }
  void sequences() {
    for (const std::int64_t count : axes_.rows_at_once)
      for (const std::int64_t dim : axes_.dims) {
        for (const ElementType type : {ElementType::fp32, ElementType::fp16})
          table(BenchOp::gather, dim, {1, count}, type, 0, RowOptimizer::none);
        for (const RowOptimizer optimizer : kEveryOptimizer)
          table(BenchOp::scatter, dim, {1, count}, ElementType::fp32, 0, optimizer);
      }
  }
  void sorts() {
    for (const std::int64_t pairs : axes_.pairs)
      for (const int bits : {22, 28, 16}) sized(BenchOp::sort, pairs, 4, std::int64_t{1} << bits);
  }
  void products() {
    for (const auto& [m, n, k] : axes_.products)
      for (const Precision precision : {Precision::fp16, Precision::tf32, Precision::fp32, Precision::bf16}) {
        sized(BenchOp::gemm, m, n, k);
        points_.back().precision = precision;
      }
  }
  void copies() {
    for (const std::int64_t bytes : axes_.copied)
      for (const BenchOp op : {BenchOp::copy, BenchOp::to_device, BenchOp::to_host}) sized(op, bytes, 0, 0);
  }

  std::vector<BenchPoint> take() { return std::move(points_); }

 private:
  void table(BenchOp op, std::int64_t dim, const Batch& batch, ElementType type, double zipf, RowOptimizer optimizer) {
    BenchPoint point;
    point.op = op;
    point.tables = {{axes_.rows, dim, batch.pooling}};
    point.batch = batch.bags;
    point.type = type;
    point.law.zipf = zipf;
    point.optimizer = optimizer;
    points_.push_back(point);
  }
  void sized(BenchOp op, std::int64_t m, std::int64_t n, std::int64_t k) {
    BenchPoint point;
    point.op = op;
    point.m = m;
    point.n = n;
    point.k = k;
    points_.push_back(point);
  }

  GridAxes axes_;
  std::vector<BenchPoint> points_;
};

// Points that compute models read come first, then those that say how far the rest is from them.
std::vector<BenchPoint> whole_grid(GridAxes axes) {
  Grid grid(std::move(axes));
  grid.lookups(ElementType::fp32, 0);
  grid.updates(RowOptimizer::rowwise_adagrad, ElementType::fp32, 0);
  grid.many_tables(1.05);
  grid.many_tables(0);
  grid.products();
  grid.sorts();
  grid.copies();
  grid.updates(RowOptimizer::adagrad, ElementType::fp32, 0);
  grid.updates(RowOptimizer::sgd, ElementType::fp32, 0);
  grid.sequences();
  grid.lookups(ElementType::fp16, 0);
  grid.weighted_lookups();
  grid.lookups(ElementType::fp32, 1.05);
  grid.updates(RowOptimizer::rowwise_adagrad, ElementType::fp32, 1.05);
  grid.lookups(ElementType::fp32, 1.2);
  grid.updates(RowOptimizer::adam, ElementType::fp32, 0);
  grid.lookups(ElementType::fp16, 1.05);
  grid.updates(RowOptimizer::rowwise_adagrad, ElementType::fp16, 0);
  grid.updates(RowOptimizer::rowwise_adagrad, ElementType::fp32, 1.2);
  grid.lookups(ElementType::fp16, 1.2);
  return grid.take();
}

// A few calls whose bytes a profiler counts.
std::vector<BenchPoint> probed_points() {
  GridAxes axes = full_axes();
  axes.dims = {128, 512};
  axes.batches.resize(1);
  axes.rows_at_once = {};
  Grid grid(axes);
  grid.lookups(ElementType::fp32, 0);
  grid.lookups(ElementType::fp32, 1.05);
  grid.updates(RowOptimizer::rowwise_adagrad, ElementType::fp32, 0);
  grid.updates(RowOptimizer::adagrad, ElementType::fp32, 0);
  return grid.take();
}

}  // namespace

std::vector<BenchPoint> grid_sweep(const std::string& size, const Place& place) {
  if (size == "full") return whole_grid(full_axes());
  if (size == "small") return whole_grid(small_axes());
  if (size == "probe") return probed_points();
  throw input_error(place, "no grid is called " + excerpt(size), known_names_hint(size, {"full", "small", "probe"}));
}

}  // namespace shardsim
