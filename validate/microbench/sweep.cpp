#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <numeric>

#include "base/rng.h"
#include "validate/microbench/microbench.h"

namespace shardsim {
namespace {

constexpr std::array<std::int64_t, 4> kTables{1, 4, 8, 32};
constexpr std::array<std::int64_t, 5> kRows{1'000, 10'000, 100'000, 1'000'000, 10'000'000};
constexpr std::array<std::int64_t, 7> kDims{4, 8, 16, 32, 64, 128, 256};
constexpr std::array<std::int64_t, 5> kPoolings{1, 2, 8, 32, 100};
constexpr std::array<std::int64_t, 4> kBatches{512, 2048, 8192, 65536};
constexpr std::array<ElementType, 2> kTypes{ElementType::fp32, ElementType::fp16};
constexpr std::array<double, 3> kZipfs{0, 1.05, 1.2};
constexpr std::array<RowOptimizer, 2> kOptimizers{RowOptimizer::sgd, RowOptimizer::rowwise_adagrad};
constexpr std::array<bool, 2> kWarm{false, true};
constexpr int kPasses = 8;  // over the hypercube, until enough of its points fit in memory

struct Shape {
  std::int64_t tables = 8, rows = 1'000'000, dim = 64, pooling = 32, batch = 8192;
};

BenchPoint point_of(BenchOp op, const Shape& shape, RowOptimizer optimizer = RowOptimizer::none) {
  BenchPoint point;
  point.op = op;
  point.tables.assign(static_cast<std::size_t>(shape.tables), {shape.rows, shape.dim, shape.pooling});
  point.batch = shape.batch;
  point.optimizer = optimizer;
  return point;
}

// The points of one sweep, those that fit.
class PointList {
 public:
  explicit PointList(std::int64_t memory) : memory_(memory) {}

  bool add(const BenchPoint& point) {
    if (point.need_bytes() > memory_) return false;
    if (std::ranges::find(points_, point) == points_.end()) points_.push_back(point);
    return true;
  }

  // Forward, backward and both: the optimizer is the backward's.
  bool add_three(BenchPoint point) {
    if (point.need_bytes() > memory_) return false;
    const RowOptimizer optimizer = point.optimizer;
    for (const BenchOp op : {BenchOp::lookup, BenchOp::update, BenchOp::lookup_update}) {
      point.op = op;
      point.optimizer = op == BenchOp::lookup ? RowOptimizer::none : optimizer;
      add(point);
    }
    return true;
  }

  void add_gemm(std::int64_t m, std::int64_t n, std::int64_t k) {
    BenchPoint point;
    point.op = BenchOp::gemm;
    point.m = m;
    point.n = n;
    point.k = k;
    add(point);
  }

  // A gather and its update, each optimizer: `lookups` rows of one table.
  void add_sequence(std::int64_t rows, std::int64_t dim, std::int64_t lookups, ElementType type) {
    BenchPoint point = point_of(BenchOp::gather, {1, rows, dim, 1, lookups});
    point.type = type;
    add(point);
    point.op = BenchOp::scatter;
    for (const RowOptimizer optimizer :
         {RowOptimizer::sgd, RowOptimizer::rowwise_adagrad, RowOptimizer::adagrad, RowOptimizer::adam}) {
      point.optimizer = optimizer;
      add(point);
    }
  }

  std::vector<BenchPoint> take() { return std::move(points_); }

 private:
  std::int64_t memory_;
  std::vector<BenchPoint> points_;
};

BenchPoint centre() {
  return point_of(BenchOp::update, {}, RowOptimizer::rowwise_adagrad);
}

// An axis that a sweep varies: some values, and how a point takes one of them.
struct Axis {
  std::size_t values;
  std::function<void(BenchPoint&, std::size_t value)> set;
};

template <typename Values, typename Set>
Axis axis(const Values& values, const Set& set) {
  return {values.size(), [values, set](BenchPoint& point, std::size_t value) { set(point, values[value]); }};
}

template <typename Values>
Axis axis_of_tables(const Values& values, std::int64_t BenchPoint::TableShape::*member) {
  return axis(values, [member](BenchPoint& point, std::int64_t value) {
    for (auto& table : point.tables) table.*member = value;
  });
}

std::vector<Axis> axes() {
  using Tables = BenchPoint::TableShape;
  return {axis(kTables, [](BenchPoint& p, std::int64_t v) { p.tables.resize(v, p.tables.front()); }),
          axis_of_tables(kRows, &Tables::rows),
          axis_of_tables(kDims, &Tables::dim),
          axis_of_tables(kPoolings, &Tables::pooling),
          axis(kBatches, [](BenchPoint& p, std::int64_t v) { p.batch = v; }),
          axis(kTypes, [](BenchPoint& p, ElementType v) { p.type = v; }),
          axis(kZipfs, [](BenchPoint& p, double v) { p.law.zipf = v; }),
          axis(kOptimizers, [](BenchPoint& p, RowOptimizer v) { p.optimizer = v; }),
          axis(kWarm, [](BenchPoint& p, bool v) { p.warm = v; })};
}

void add_axes(PointList& list) {
  for (const Axis& axis : axes()) {
    for (std::size_t value = 0; value < axis.values; ++value) {
      BenchPoint point = centre();
      axis.set(point, value);
      list.add_three(point);
    }
  }
}

// A permutation of [0, n): one axis of a Latin hypercube.
std::vector<int> shuffled(int n, Rng& rng) {
  std::vector<int> order(static_cast<std::size_t>(n));
  std::iota(order.begin(), order.end(), 0);
  for (int i = n - 1; i > 0; --i) std::swap(order[i], order[rng.below(static_cast<std::uint64_t>(i) + 1)]);
  return order;
}

// n points whose values on every axis are dealt out as evenly as n allows, in an order of their own.
std::vector<BenchPoint> hypercube_points(int n, Rng& rng) {
  std::vector<BenchPoint> points(static_cast<std::size_t>(n), centre());
  for (const Axis& axis : axes()) {
    const std::vector<int> places = shuffled(n, rng);
    for (int i = 0; i < n; ++i) axis.set(points[i], places[i] * axis.values / n);
  }
  return points;
}

void add_hypercube(PointList& list, int wanted, Rng& rng) {
  for (int pass = 0, found = 0; pass < kPasses && found < wanted && wanted > 0; ++pass)
    for (const BenchPoint& point : hypercube_points(wanted, rng))
      if (found < wanted && list.add_three(point)) ++found;
}

std::int64_t log_uniform(Rng& rng, double low, double high) {
  return std::llround(low * std::pow(high / low, rng.uniform()));
}

void add_mixed(PointList& list, int wanted, Rng& rng) {
  for (int i = 0; i < wanted * kPasses && wanted > 0; ++i) {
    BenchPoint point = centre();
    point.batch = kBatches[rng.below(3)];
    point.tables.clear();
    for (std::uint64_t t = 2 + rng.below(15); t > 0; --t)
      point.tables.push_back({log_uniform(rng, 1e3, 1e7), kDims[rng.below(kDims.size())], log_uniform(rng, 1, 60)});
    if (list.add_three(point)) --wanted;
  }
}

// Shapes of embedding_measurements.csv whose sizes are known; poolings that vary there are the nearest whole number.
void add_published(PointList& list) {
  constexpr std::array<Shape, 12> kShapes{{{32, 1'000, 32, 8, 128},
                                           {32, 1'000, 64, 8, 128},
                                           {32, 1'000, 256, 8, 128},
                                           {8, 1'000'000, 64, 100, 2048},
                                           {32, 500'000, 128, 16, 4096},
                                           {32, 500'000, 128, 38, 4096},
                                           {32, 500'000, 128, 64, 4096},
                                           {128, 200'000, 128, 128, 2048},
                                           {32, 100'000, 128, 20, 512},
                                           {2, 10'000'000, 192, 32, 65536},
                                           {1, 14'000'000, 128, 30, 2048},
                                           {4, 1'000, 64, 10, 256}}};
  for (const Shape& shape : kShapes)
    for (const RowOptimizer optimizer : kOptimizers) list.add_three(point_of(BenchOp::update, shape, optimizer));
  for (std::int64_t dim = 4; dim <= 1024; dim *= 2)
    list.add_three(point_of(BenchOp::update, {4, 100'000, dim, 10, 65536}, RowOptimizer::rowwise_adagrad));
}

void add_quick_shape(PointList& list, const Shape& shape, ElementType type, double zipf, RowOptimizer optimizer) {
  BenchPoint point = point_of(BenchOp::lookup, shape);
  point.type = type;
  point.law.zipf = zipf;
  list.add(point);
  point.op = BenchOp::update;
  point.optimizer = optimizer;
  list.add(point);
}

}  // namespace

std::vector<BenchPoint> quick_sweep(std::int64_t memory) {
  constexpr auto kSgd = RowOptimizer::sgd, kAdagrad = RowOptimizer::rowwise_adagrad, kAdam = RowOptimizer::adam;
  PointList list(memory);
  list.add(point_of(BenchOp::lookup, {1, 1'000'000, 64, 32, 8192}));  // the one that is laid beside a streaming read
  for (const std::int64_t dim : {4, 16, 64, 128, 256})
    add_quick_shape(list, {1, 200'000, dim, 16, 2048}, ElementType::fp32, 0, kAdagrad);
  for (const std::int64_t rows : {1'000, 20'000, 1'000'000})
    add_quick_shape(list, {2, rows, 64, 8, 2048}, ElementType::fp32, 0, kSgd);
  for (const std::int64_t pooling : {1, 4, 64})
    add_quick_shape(list, {1, 200'000, 64, pooling, 2048}, ElementType::fp32, 0, kAdagrad);
  for (const std::int64_t batch : {64, 512, 8192})
    add_quick_shape(list, {1, 200'000, 64, 16, batch}, ElementType::fp32, 0, kSgd);
  add_quick_shape(list, {8, 50'000, 32, 8, 1024}, ElementType::fp32, 0, kAdam);
  add_quick_shape(list, {1, 200'000, 64, 16, 4096}, ElementType::fp16, 0, kAdagrad);
  add_quick_shape(list, {1, 200'000, 64, 16, 4096}, ElementType::bf16, 0, kAdam);
  add_quick_shape(list, {1, 200'000, 64, 16, 4096}, ElementType::fp32, 1.05, kAdagrad);
  add_quick_shape(list, {1, 200'000, 64, 16, 4096}, ElementType::fp32, 1.2, kSgd);
  for (const std::int64_t lookups : {1'000, 16'000, 128'000})
    list.add_sequence(200'000, 64, lookups, ElementType::fp32);
  for (const std::int64_t size : {64, 128, 256, 512}) list.add_gemm(size, size, size);
  list.add_gemm(2048, 64, 256);
  return list.take();
}

std::vector<BenchPoint> full_sweep(std::int64_t memory, std::uint64_t seed, const SweepSize& size) {
  PointList list(memory);
  Rng rng(seed);
  add_axes(list);
  add_published(list);
  add_hypercube(list, size.hypercube, rng);
  add_mixed(list, size.mixed, rng);
  for (const std::int64_t rows : kRows)
    for (const std::int64_t dim : {16, 64, 128, 256})
      for (const std::int64_t lookups : {8'192, 262'144})
        for (const ElementType type : kTypes) list.add_sequence(rows, dim, lookups, type);
  for (const std::int64_t m : {64, 512, 2048, 8192})
    for (const std::int64_t k : {64, 256, 1024, 4096})
      for (const std::int64_t n : {64, 256, 1024}) list.add_gemm(m, n, k);
  return list.take();
}

}  // namespace shardsim
