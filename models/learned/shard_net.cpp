#include "models/learned/shard_net.h"

#include <algorithm>
#include <utility>

namespace shardsim {
namespace {

// Calls `take` with the position of each of the samples and each of its pieces, in order.
template <typename Scalar>
void for_each_member(const PieceSets<Scalar>& set, std::span<const int> samples, auto take) {
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const auto sample = static_cast<std::size_t>(samples[i]);
    for (std::size_t m = set.begins[sample]; m < set.begins[sample + 1]; ++m)
      take(i, static_cast<std::size_t>(set.members[m]));
  }
}

template <typename Scalar>
void add_vector(Scalar* to, const Scalar* from, int width) {
  for (int k = 0; k < width; ++k) to[k] += from[k];
}

}  // namespace

template <typename Scalar>
ShardNet<Scalar>::ShardNet(int features)
    : TablesAndHead<Scalar>({{features, kTableHidden, true}, {kTableHidden, kTableVector, true}},
                            {{kTableVector, kHeadHidden, true}, {kHeadHidden, 1, false}}) {}

// Pieces that several shards of the batch hold go through the net once.
template <typename Scalar>
void ShardNet<Scalar>::gather(const PieceSets<Scalar>& set, std::span<const int> samples, Pass& pass) const {
  const auto width = static_cast<std::size_t>(set.features);
  pass.place_of.assign(set.pieces.size() / width, -1);
  pass.pieces.clear();
  pass.features.clear();
  for_each_member(set, samples, [&](std::size_t, std::size_t piece) {
    if (pass.place_of[piece] >= 0) return;
    pass.place_of[piece] = static_cast<int>(pass.pieces.size());
    pass.pieces.push_back(static_cast<int>(piece));
    const Scalar* from = set.pieces.data() + piece * width;
    pass.features.insert(pass.features.end(), from, from + width);
  });
}

template <typename Scalar>
void ShardNet<Scalar>::forward(std::span<const Scalar> parameters, const PieceSets<Scalar>& set,
                               std::span<const int> samples, Pass& pass) const {
  gather(set, samples, pass);
  this->tables().forward(this->of_tables(parameters), pass.features, pass.tables);
  pass.sums.assign(samples.size() * kTableVector, Scalar(0));
  for_each_member(set, samples, [&](std::size_t i, std::size_t piece) {
    const auto place = static_cast<std::size_t>(pass.place_of[piece]);
    add_vector(pass.sums.data() + i * kTableVector, pass.tables.back().data() + place * kTableVector, kTableVector);
  });
  this->head().forward(this->of_head(parameters), pass.sums, pass.head);
}

template <typename Scalar>
void ShardNet<Scalar>::backward(std::span<const Scalar> parameters, const PieceSets<Scalar>& set,
                                std::span<const int> samples, const Pass& pass, std::vector<Scalar> of_outputs,
                                std::span<Scalar> gradient) const {
  std::vector<Scalar> of_sums;
  this->head().backward(this->of_head(parameters), pass.sums, pass.head, std::move(of_outputs), this->of_head(gradient),
                        &of_sums);
  std::vector<Scalar> of_vectors(pass.pieces.size() * kTableVector, Scalar(0));
  for_each_member(set, samples, [&](std::size_t i, std::size_t piece) {
    const auto place = static_cast<std::size_t>(pass.place_of[piece]);
    add_vector(of_vectors.data() + place * kTableVector, of_sums.data() + i * kTableVector, kTableVector);
  });
  this->tables().backward(this->of_tables(parameters), pass.features, pass.tables, std::move(of_vectors),
                          this->of_tables(gradient), nullptr);
}

template class ShardNet<float>;
template class ShardNet<double>;

}  // namespace shardsim
