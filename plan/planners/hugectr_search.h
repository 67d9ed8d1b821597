#pragma once

#include <functional>
#include <optional>
#include <vector>

namespace shardsim {

// A vector on the wire has fewer bytes than a lookup moves: 2 per element, whereas a lookup of fp32 weights and their
// Adagrad state moves 8. So the cost of a vector, in lookups, is the ratio of the bandwidths divided by 4.
inline constexpr double kCommunicationWork = 4;

// A table to be dealt to buckets: GPUs, or nodes.
struct BucketTable {
  int table = 0;       // index into the workload's tables
  double lookups = 0;  // per sample
  double bytes = 0;    // weights and optimizer state of all rows
};

struct BucketPlan {
  std::vector<std::vector<int>> buckets_of;  // by table, as given: the buckets that share its rows, ascending
  double largest_cost = 0;                   // of a bucket, in lookups per sample
};

// The buckets that the search fills, and a check that may stop it.
struct BucketLimits {
  int buckets = 1;
  double vector_cost = 0;  // of a shard, in lookups per sample
  double capacity = 0;     // bytes
  std::function<void()> check_stop = {};
};

// HugeCTR's search (docs/planners.md). A bucket costs its lookups per sample, those of a shard being an equal part of
// its table's, and `vector_cost` per shard. Every table starts as one shard. In each of 20 rounds shards by falling
// lookups go to the cheapest bucket with room that has none of the table; then the first table in that order that can
// be cut is cut into twice as many shards, or the table that found no room. The plan whose costliest bucket is cheapest
// wins, or the one found first among several; the plan with all tables in all buckets is found before the others. If
// buckets cost the same, the first one is taken. Nothing where no such plan fits.
std::optional<BucketPlan> search_buckets(const std::vector<BucketTable>& tables, const BucketLimits& limits);

// Numbers of the values in rising order; the order of equal values is that of numpy.argsort with its default sort,
// which decides how the published plans place tables with equal lookups: quicksort by the median of first, middle and
// last, insertion sort for up to 16 values (numpy/core/src/npysort/quicksort.cpp at 1.24).
std::vector<int> numpy_order(const std::vector<double>& values);

}  // namespace shardsim
