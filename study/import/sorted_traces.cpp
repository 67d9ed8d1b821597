#include "study/import/sorted_traces.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "base/error.h"
#include "base/text.h"

namespace shardsim {
namespace {

// Returns what the rank has to do besides exchanges: the others wait for the one that has most.
double own_work_ms(const TracedModel& traced) {
  double ms = 0;
  for (const auto& [phase, part] : traced.step.parts) ms += (part.all() - part.exchange).ms();
  return ms;
}

// The traces, sorted out by batch and by rank.
class SortedTraces {
 public:
  SortedTraces(const TraceQuestion& asked, ImportSetting& setting) : asked_(asked), setting_(setting) {}

  std::vector<TracedBatch> by_batch() {
    check_batches();
    for (std::size_t i = 0; i < asked_.traces.size(); ++i) {
      check_alike(asked_.traces[i]);
      check_one_model(asked_.traces[i]);
      ranks_of_[batch_of(i)].push_back(&asked_.traces[i]);
    }
    std::vector<TracedBatch> batches;
    for (const auto& [batch, ranks] : ranks_of_) batches.push_back({batch, leading(batch, ranks)});
    return batches;
  }

 private:
  std::int64_t batch_of(std::size_t index) const {
    return index < asked_.batches.size() ? asked_.batches[index] : asked_.traces[index].shapes.batch;
  }

  void check_batches() const {
    if (!asked_.batches.empty() && asked_.batches.size() != asked_.traces.size())
      throw input_error({"argument --traced-batch"},
                        fmt::format("{} for {}", counted(asked_.batches.size(), "batch size"),
                                    counted(asked_.traces.size(), "trace")),
                        "Give one for each trace, in their order");
    std::set<std::int64_t> known;
    for (std::size_t i = 0; i < asked_.traces.size(); ++i) known.insert(batch_of(i));
    if (known.size() > 1 && known.contains(0))
      throw input_error({asked_.traces.front().path}, "the batch of some traces is known and that of others is not",
                        "Say it for each with --traced-batch, in the order of the traces");
  }

  void check_alike(const TracedModel& traced) const {
    const TracedModel& first = asked_.traces.front();
    if (traced.device != first.device)
      throw input_error(
          {traced.path},
          fmt::format("a trace of {}, where {} is of {}", excerpt(traced.device), first.path, excerpt(first.device)),
          "Give traces of one kind of GPU");
    if (traced.world_size != first.world_size)
      throw input_error({traced.path},
                        fmt::format("a trace of a world of {}, where {} has {}", counted(traced.world_size, "rank"),
                                    first.path, first.world_size),
                        "Give traces of one run, or of runs that differ in their batch alone");
  }

  // The contents of one rank's tables do not depend on the batch.
  void check_one_model(const TracedModel& traced) const {
    constexpr double kSameModel = 0.01;
    const TracedModel& first = asked_.traces.front();
    const double values = traced_values(first), others = traced_values(traced);
    if (traced.rank != first.rank || values <= 0 || others <= 0 || std::abs(others / values - 1) < kSameModel) return;
    throw input_error(
        {traced.path},
        fmt::format("its lookups are in tables that hold {:.3g} numbers, and those of {} in {:.3g}: these "
                    "are traces of two models",
                    others, first.path, values),
        "Give traces of one model, which differ in their batch alone");
  }

  const TracedModel* leading(std::int64_t batch, const std::vector<const TracedModel*>& ranks) {
    std::set<std::int64_t> seen;
    for (const TracedModel* const traced : ranks) {
      if (seen.insert(traced->rank).second) continue;
      const std::string of = batch > 0 ? fmt::format(" with a batch of {} samples", batch) : std::string();
      throw input_error({traced->path}, fmt::format("another trace of rank {}{}", traced->rank, of),
                        "Give traces of other ranks, or say which batch each is of with --traced-batch");
    }
    const auto [least, most] =
        std::ranges::minmax_element(ranks, {}, [](const auto* each) { return own_work_ms(*each); });
    if (ranks.size() > 1)
      setting_.notes.push_back(
          fmt::format("Of {}, rank {} has most to do besides exchanges ({:.3f} ms; rank {} least, {:.3f} ms), so its "
                      "step is taken.",
                      counted(ranks.size(), "traced rank"), (*most)->rank, own_work_ms(**most), (*least)->rank,
                      own_work_ms(**least)));
    return *most;
  }

  const TraceQuestion& asked_;
  ImportSetting& setting_;
  std::map<std::int64_t, std::vector<const TracedModel*>> ranks_of_;
};

}  // namespace

std::vector<TracedBatch> sorted_traces(const TraceQuestion& asked, ImportSetting& setting) {
  return SortedTraces(asked, setting).by_batch();
}

double traced_values(const TracedModel& traced) {
  double values = 0;
  for (const TracedTables& each : traced.shapes.tables) values += static_cast<double>(each.values);
  return values;
}

}  // namespace shardsim
