#pragma once

#include <map>
#include <memory>
#include <vector>

#include "validate/execute/devices/fused_lookup.h"

namespace shardsim {

// The operations of one rank on its device, and the data of its lookups. The Machine decides when and where operations
// run.
class RankOps {
 public:
  // Takes all memory. Errors (Failure::run) say for which operation of which rank.
  RankOps(const IterationPrograms& programs, int rank, bool check_data, DevicePort& device);

  bool has(int op) const { return actions_[static_cast<std::size_t>(op)] != nullptr; }  // the rank takes part
  void run(const Op& op, int iteration) const { actions_[static_cast<std::size_t>(op.id)](iteration); }
  // A pipeline does this for its first batches before it starts, in this order: exchanges of their ids, and where
  // it looks up ahead, lookups and exchanges of vectors. Iterations before 0.
  struct Early {
    int op = 0, iteration = 0;
  };
  std::vector<Early> early() const;

  std::int64_t bytes() const;

  // The data as it is, for checks, fp32, one row after the other; nothing may be running. The rows that this rank asked
  // for through a lookup in the last iteration, in the order of IdBatch::ids; of pooled lookups, `lookup_op` being the
  // first one of its Fusion, the vectors that it got, shard after shard of Fusion::shards, [bags][dim]. Errors
  // (Failure::run): the operation is no lookup.
  std::vector<float> gathered(int lookup_op, const Numbers* vectors = nullptr) const {
    return with(lookup_op).gathered(vectors);
  }
  std::vector<float> shard_rows(int shard, const Numbers* rows = nullptr) const;  // that the rank holds; none: empty
  // Replaces the rows of a shard that this rank holds, and the gradients of what gathered() gives. Tables of fp32.
  void load_rows(int shard, const ValueAt& value);
  void load_gradients(int lookup_op, const ValueAt& value) { with(lookup_op).load_gradients(value); }

 private:
  // The stand-in for the dense operations of one stream: matrices to multiply, of each type, and bytes to copy.
  struct Matrices {
    DeviceMemory a, b, c;
  };
  struct Dense {
    std::map<ElementType, Matrices> matrices;
    DeviceMemory from, to;
    DeviceMemory host, device;  // what passes between the memories
  };
  using Products = std::vector<std::pair<DevicePort::Product, std::int64_t>>;  // each so many times

  FusedLookup& with(int lookup_op) const;
  // An operation without a lookup's rows, in all Programs.
  Action moving(int op, int rank);
  // Copies of rows, or of their optimizer states, made equal in one of op.every iterations.
  Action averaging(const Op& op, int rank);
  Action working(int op, int rank);
  Action working(const Op& op, const Products& products, double bytes);
  // A passage between host memory and the device: a copy of inputs, rows that a cache misses, or the word of the GPU
  // that a host waits for.
  Action crossing(const Op& op, double bytes, int rank);
  DeviceMemory scattered(std::int64_t rows);
  Products products_of(const Op& op, double flops, int rank);
  void reserve(Dense& dense, const Products& products, int stream);
  void grow(DeviceMemory& memory, std::int64_t bytes, const char* what, ElementType type = ElementType::fp32);
  void multiply(const Dense& dense, const Products& products, int stream);
  void copy(const Dense& dense, std::int64_t bytes, int stream);

  IterationPrograms programs_;
  DevicePort& device_;
  std::vector<std::unique_ptr<FusedLookup>> lookups_;
  std::map<int, Dense> dense_;    // [stream]
  std::int64_t plain_bytes_ = 0;  // memory of operations without a lookup's rows
  std::vector<Action> actions_;   // [op]
};

}  // namespace shardsim
