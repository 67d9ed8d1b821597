#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "models/learned/tables_and_head.h"

namespace shardsim {

// Sets of tables for a net. A piece is a table with its columns; shards share pieces.
template <typename Scalar>
struct PieceSets {
  int features = 0;
  std::vector<Scalar> pieces;             // [pieces x features], standardised
  std::vector<Scalar> amounts = {};       // [pieces x PieceAmounts::kCount], for a FactorNet
  std::vector<int> members;               // pieces of all shards, one shard after the other
  std::vector<std::size_t> begins = {0};  // [shards + 1] into `members`
  std::size_t size() const { return begins.size() - 1; }
  void add(std::span<const int> shard) {
    members.insert(members.end(), shard.begin(), shard.end());
    begins.push_back(members.size());
  }
  // The pieces of those shards, one shard after the other.
  std::vector<int> members_of(std::span<const int> samples) const {
    std::vector<int> result;
    for (const int sample : samples) {
      const auto shard = static_cast<std::size_t>(sample);
      result.insert(result.end(), members.begin() + static_cast<std::ptrdiff_t>(begins[shard]),
                    members.begin() + static_cast<std::ptrdiff_t>(begins[shard + 1]));
    }
    return result;
  }
};

// NeuroShard's computation cost model (MLSys 2023, section 3.2; models.py at ec7ca74): a vector of 32 for each table
// (features-128-32, ReLU behind both), their sum, and a head 32-64-1 whose output is one number per shard.
template <typename Scalar>
class ShardNet : public TablesAndHead<Scalar> {
 public:
  static constexpr int kTableHidden = 128, kTableVector = 32, kHeadHidden = 64;

  explicit ShardNet(int features);

  // The values that one batch keeps for its backward pass.
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
};

extern template class ShardNet<float>;
extern template class ShardNet<double>;

}  // namespace shardsim
