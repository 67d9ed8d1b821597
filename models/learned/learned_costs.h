#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "models/learned/table_features.h"

namespace shardsim {

struct CostModel;

// The setting for which the labels of a model were made. Costs that were learned for one setting do not hold for
// another.
struct LabelSetting {
  std::string provider = {};   // "closed_form", "cpu", "cuda": who said the seconds
  std::string device = {};     // whose they are, e.g. "A100-SXM4-40GB"
  std::int64_t batch = 0;      // samples of one lookup, of all ranks together; 0: several, in LearnedRange
  std::string optimizer = {};  // of the update
  std::string dtype = {};      // of the rows
  bool operator==(const LabelSetting&) const = default;

  // The provider, in the words in which a comparison of planners names the model that judges plans, so that the
  // comparison can tell if both are the same. Labels in closed form are those of the roofline.
  std::string judge() const { return provider == "closed_form" ? "roofline" : provider; }
};

// Says what the labels of a model cover, where the batch is one of its features (layout `batches`); else all 0.
struct LearnedRange {
  std::int64_t batch_from = 0, batch_to = 0;      // samples of one lookup
  std::int64_t columns_from = 0, columns_to = 0;  // of a piece
  std::int64_t tables_from = 0, tables_to = 0;    // pieces of a shard; 0: the file does not say it
  bool operator==(const LearnedRange&) const = default;
};

// How far the nets of one direction are off on the labels that no fit looked at.
struct HeldBackErrors {
  double median_pct = 0, p90_pct = 0;  // of the relative errors without their sign
  double scale = 0;                    // mean of |ln(label / predicted)|
  bool operator==(const HeldBackErrors&) const = default;
};

// The labels that a model was taught by, and those that judge it.
struct LearnedEvidence {
  std::vector<std::string> sets;  // of labels, by their names
  std::int64_t fitted = 0;        // labels of shards, validation included
  std::int64_t held_back = 0;     // labels of shards that judge; 0: none, or the file does not say it
  HeldBackErrors forward, backward;
  bool operator==(const LearnedEvidence&) const = default;
};

// "closed_form on A100-SXM4-40GB (batch 65536, sgd, fp32)".
std::string text_of(const LabelSetting& setting);

// The setting that a file must have; empty texts and 0 demand nothing.
using ExpectedSetting = LabelSetting;

// One or several tables as the nets see them. With the layouts `measured` and `batches` the first numbers of either
// half are the amounts that a FactorNet sums. Otherwise each half is the first layer of a head, before its bias,
// applied to the table's vector. That layer is linear, so vectors of tables add up to the vector of their shard, and a
// head costs 64 numbers.
struct CostVector {
  static constexpr std::size_t kWidth = 64;
  alignas(64) std::array<float, 2 * kWidth> values{};  // of the forward head, then of the backward head
  bool operator==(const CostVector&) const = default;
};

// Seconds of the fused lookup of a shard, and of its backward pass with the update.
struct ShardSeconds {
  double forward = 0, backward = 0;
  Seconds of(bool is_lookup) const { return {is_lookup ? forward : backward}; }
  double sum() const { return forward + backward; }
};

// Costs that were learned from labels (`shardsim cost-model train`): NeuroShard's pre-trained cost models (Zha et al.,
// MLSys 2023, section 3.2), forward and backward apart. Pure: the same vectors added in the same order give the same
// bits, kept or computed anew.
class LearnedCosts {
 public:
  // Errors (Failure::input, naming the file): not such a file, cut off, of another feature layout, or of another
  // setting than expected (both are named).
  static LearnedCosts read(const std::filesystem::path& file, const ExpectedSetting& expected = {});
  explicit LearnedCosts(const CostModel& model);
  ~LearnedCosts();
  LearnedCosts(LearnedCosts&&) noexcept;
  LearnedCosts& operator=(LearnedCosts&&) noexcept;

  const LabelSetting& setting() const;
  const LearnedRange& range() const;
  const LearnedEvidence& evidence() const;
  FeatureLayout layout() const;
  // At whose multiples the tables of a labelled call began, bytes; 0: how they lay is not known.
  int row_alignment() const;

  // Some microseconds: keep it per (table, columns).
  CostVector vector_of(const CallPiece& piece) const;
  // sum += vector, in a few nanoseconds; the order of additions decides the last bits.
  static void add(CostVector& sum, const CostVector& vector);
  // Seconds of the shard whose vectors add up to `sum`. A call takes some 30 ns, with the layout `measured` some 150.
  // An empty shard (a vector of zeros) costs what the nets predict for it; with the layout `measured` 0.
  ShardSeconds seconds_of(const CostVector& sum) const;

  // The exchanges of vectors (NeuroShard, section 3.2), where the file has nets for so many ranks.
  std::vector<int> exchange_ranks() const;  // of 2 to 128 those that it has
  // Seconds of each rank. `dims`: [plans x ranks] columns that the ranks hold; `starts`: [plans x ranks] when they
  // begin, the earliest of a plan at 0. An early rank's seconds hold its waiting. Errors: std::logic_error where ranks
  // is not one of exchange_ranks() or the sizes differ.
  void forward_exchanges(int ranks, std::span<const double> dims, std::span<const double> starts,
                         std::span<double> seconds) const;
  void backward_exchanges(int ranks, std::span<const double> dims, std::span<double> seconds) const;

 private:
  struct Nets;
  std::unique_ptr<const Nets> nets_;
};

}  // namespace shardsim
