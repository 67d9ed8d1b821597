#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "plan/learned/dense_stack.h"

namespace shardsim {

// Sets of tables for a net. A piece is a table with its columns; shards share pieces.
template <typename Scalar>
struct PieceSets {
  int features = 0;
  std::vector<Scalar> pieces;             // [pieces x features], standardised
  std::vector<int> members;               // pieces of all shards, one shard after the other
  std::vector<std::size_t> begins = {0};  // [shards + 1] into `members`
  std::size_t size() const { return begins.size() - 1; }
  void add(std::span<const int> shard) {
    members.insert(members.end(), shard.begin(), shard.end());
    begins.push_back(members.size());
  }
};

// NeuroShard's computation cost model (MLSys 2023, section 3.2; models.py at ec7ca74): a vector of 32 for each table
// (features-128-32, ReLU behind both), their sum, and a head 32-64-1 whose output is one number per shard.
template <typename Scalar>
class ShardNet {
 public:
  static constexpr int kTableHidden = 128, kTableVector = 32, kHeadHidden = 64;

  explicit ShardNet(int features);

  const DenseStack<Scalar>& tables() const { return tables_; }
  const DenseStack<Scalar>& head() const { return head_; }
  std::size_t parameter_count() const { return tables_.parameter_count() + head_.parameter_count(); }
  std::span<const Scalar> of_tables(std::span<const Scalar> parameters) const;  // their part: the first
  std::span<const Scalar> of_head(std::span<const Scalar> parameters) const;
  void initialise(std::span<Scalar> parameters, Rng& rng) const;

  // What one batch leaves for its backward pass.
  struct Pass {
    std::vector<int> pieces;       // different ones, as they are first met
    std::vector<int> place_of;     // [all pieces] in `pieces`; -1: not in this batch
    std::vector<Scalar> features;  // of `pieces`
    typename DenseStack<Scalar>::Outputs tables, head;
    std::vector<Scalar> sums;  // [shards x kTableVector]
  };
  // One number per sample, in `pass.head.back()`. `samples`: positions of shards in the set.
  void forward(std::span<const Scalar> parameters, const PieceSets<Scalar>& set, std::span<const int> samples,
               Pass& pass) const;
  // Adds to `gradient`; `of_outputs`: the gradient of those numbers.
  void backward(std::span<const Scalar> parameters, const PieceSets<Scalar>& set, std::span<const int> samples,
                const Pass& pass, std::vector<Scalar> of_outputs, std::span<Scalar> gradient) const;

 private:
  void gather(const PieceSets<Scalar>& set, std::span<const int> samples, Pass& pass) const;

  DenseStack<Scalar> tables_, head_;
};

extern template class ShardNet<float>;
extern template class ShardNet<double>;

}  // namespace shardsim
