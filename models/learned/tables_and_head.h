#pragma once

#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "models/learned/dense_stack.h"

namespace shardsim {

// The common structure of the nets of shards: a stack that each table of a shard goes through, and a head behind their
// sum. Their parameters are one list, those of the tables' stack first.
template <typename Scalar>
class TablesAndHead {
 public:
  TablesAndHead(std::vector<DenseLayerShape> tables, std::vector<DenseLayerShape> head)
      : tables_(std::move(tables)), head_(std::move(head)) {}

  const DenseStack<Scalar>& tables() const { return tables_; }
  const DenseStack<Scalar>& head() const { return head_; }
  std::size_t parameter_count() const { return tables_.parameter_count() + head_.parameter_count(); }

  // The part of a list of parameters, or of their gradient, that belongs to the stack; the rest belongs to the head.
  std::span<const Scalar> of_tables(std::span<const Scalar> parameters) const {
    return parameters.first(tables_.parameter_count());
  }
  std::span<Scalar> of_tables(std::span<Scalar> parameters) const {
    return parameters.first(tables_.parameter_count());
  }
  std::span<const Scalar> of_head(std::span<const Scalar> parameters) const {
    return parameters.subspan(tables_.parameter_count());
  }
  std::span<Scalar> of_head(std::span<Scalar> parameters) const {
    return parameters.subspan(tables_.parameter_count());
  }

  void initialise(std::span<Scalar> parameters, Rng& rng) const {
    tables_.initialise(of_tables(parameters), rng);
    head_.initialise(of_head(parameters), rng);
  }

 private:
  DenseStack<Scalar> tables_, head_;
};

}  // namespace shardsim
