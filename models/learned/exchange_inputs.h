#pragma once

#include <span>
#include <string>
#include <vector>

#include "models/learned/dense_stack.h"
#include "models/learned/label_sets.h"
#include "topology/graph/cluster.h"

namespace shardsim {

// Inputs and outputs of the two nets for exchanges of so many ranks. Up to 8 ranks they are NeuroShard's (models.py at
// daochenzha/neuroshard ec7ca74): one row lists the columns of all ranks and, forward, their starts; one output per
// rank. A net that lists more ranks has too few units to tell them apart, so beyond 8 each rank has a row of its own
// and one output: its columns, the most and the mean of all ranks, and, forward, its start and the latest one.
class ExchangeInputs {
 public:
  explicit ExchangeInputs(int ranks) : ranks_(static_cast<std::size_t>(ranks)) {}

  // Numbers of a row; those of the backward net are the first ones of the forward net's.
  std::size_t width(bool forward) const;
  std::size_t outputs() const { return lists_ranks() ? ranks_ : 1; }  // of a row
  std::vector<DenseLayerShape> layers(bool forward) const;
  // Adds the rows of one exchange. starts_ms: [ranks], or none for the backward net.
  void add(std::span<const double> columns, std::span<const double> starts_ms, std::vector<float>& rows) const;

 private:
  bool lists_ranks() const;

  std::size_t ranks_;
};

// Names the cluster that exchanges run on, with its nodes where they are several.
std::string exchange_topology(const Cluster& cluster);

}  // namespace shardsim
