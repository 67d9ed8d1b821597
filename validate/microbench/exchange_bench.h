#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "models/learned/label_sets.h"
#include "program/program.h"
#include "program/timeline/timeline.h"
#include "validate/execute/run/execute.h"
#include "validate/microbench/journal.h"

namespace shardsim {

// Times of exchanges between the ranks of a run (docs/formats/learned_models.md, shards and their labels), for costs
// that are learned. The executor runs them, so CPU ranks and GPUs are timed alike.

inline constexpr std::int64_t kMostExchangedColumns = 1'000'000'000;  // of a rank

// Errors (Failure::input, naming the file): exchanges between another number of ranks than were started, a batch that
// they cannot share evenly, columns that are no whole number, labels that somebody gave before.
void check_exchanges(const ExchangeSet& set, int ranks);

// Two Programs of each of these exchanges: forward, where each rank begins at its own start, and backward, where all
// begin together. Both have one all-to-all, and before it the waiting of each rank.
std::vector<Program> exchange_programs(const Launch& launch, const ExchangeSet& set,
                                       std::span<const std::size_t> exchanges);

// The labels that a Timeline of the Programs of so many exchanges gives. A rank's label is the median of its times in
// all visits, each from when the rank begins to when it has sent and received all: an early rank's holds its waiting.
std::vector<ExchangeSeconds> exchange_labels(const Timeline& timeline, std::size_t exchanges);

// The exchanges that are labelled.
class ExchangeRows : public SharedJournal {
 public:
  // The set must outlive it; it gets the labels, on rank 0.
  ExchangeRows(ExchangeSet& set, std::filesystem::path output, std::string what,
               std::function<void(const Journal&)> opened = {});

  // At most so many of those without a label.
  std::vector<std::size_t> next(std::size_t most) const;
  std::size_t done() const;
  // On every rank. Labels and their device: on rank 0 alone.
  void add(std::span<const std::size_t> exchanges, const std::vector<ExchangeSeconds>& labels,
           const std::string& device);

 private:
  void take(const Journal::Line& line) override;
  std::vector<std::string> known() const override;
  void know(const std::string& word) override;

  ExchangeSet& set_;
  std::vector<bool> done_;
};

// Every rank calls. Visits the exchanges that have no label, some dozens at a time: all of those once without counting,
// then all of them `visits` times. `progress` is told how many of all are done. Errors: those of execute() and of
// ExchangeRows.
void measure_exchanges(Rendezvous& rendezvous, const ExecuteOptions& options, const ExchangeSet& set, int visits,
                       ExchangeRows& rows, const std::function<void(std::size_t done)>& progress);

}  // namespace shardsim
