#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/packed.h"
#include "study/confidence/class_errors.h"
#include "study/confidence/residuals.h"

namespace shardsim {

// A part of an iteration and the scale of its error.
struct UncertainPart {
  std::string error_class;
  double ms = 0;
  double scale = 0;         // of ln(observed / predicted)
  bool guessed = false;     // whether it hangs on a constant that is a guess
  double fitted_share = 1;  // as IterationPart's
  double beneath_ms = 0;    // likewise
  bool operator==(const UncertainPart&) const = default;
};

// The spread of an iteration over what was drawn for it.
struct DrawnSpread {
  double batches = 0;                // relative standard error of a mean over drawn batches
  std::vector<double> placements{};  // as Interval::placements
};

// The range in which an iteration is likely to end up, and what that rests on (docs/confidence.md).
struct Interval {
  double low_ms = 0, high_ms = 0;
  double coverage = kCoverage;       // the chance that it ends up between them
  std::string basis;                 // in a sentence
  std::vector<std::string> outside;  // what of the case no published iteration has, in words
  IterationSetting setting;
  double spread_scale = 0;  // of drawn batches, around their mean
  // [draw] of where hot rows lie: ln of the iteration over the one that is told; empty: nothing depends on it.
  std::vector<double> placements{};
  double rest_scale = 0;  // what whole iterations are off by beside their parts
  std::vector<UncertainPart> parts;

  double placement_mean() const;       // of the placements, which is where the range has its middle
  double placement_scale() const;      // standard deviation of the placements
  double expected(double told) const;  // a time of the placement that is told, on average over all of them
  double scale() const;                // of the whole
  bool is_set_by_host() const;         // all of the iteration: what GPUs do beside it changes nothing
  bool operator==(const Interval&) const = default;
};

// Standard deviation over the placements of hot rows below which nothing is to be said of them: times are told to four
// digits.
inline constexpr double kTellingPlacement = 1e-4;

// Our errors, as far as published times tell them.
class ErrorModel {
 public:
  explicit ErrorModel(std::vector<Residual> residuals);

  // Returns the interval of an iteration of `ms`, whose parts add up to it; `spread`: what is not known of it beside
  // their errors. `left_out`: the system whose own iterations do not count; "": none.
  Interval interval(double ms, const IterationSetting& setting, const std::vector<IterationPart>& parts,
                    const DrawnSpread& spread = {}, const std::string& left_out = "") const;
  // The same without `basis`.
  Interval wordless_interval(double ms, const IterationSetting& setting, const std::vector<IterationPart>& parts,
                             const DrawnSpread& spread = {}, const std::string& left_out = "") const;

  // True where an iteration of this model was published of this system.
  bool has_published(const IterationSetting& setting) const;
  const std::vector<Residual>& residuals() const { return residuals_; }
  const ClassErrors& classes() const { return classes_; }
  const ClassErrors& rests() const { return rests_; }

 private:
  double part_scale(const IterationPart& part) const;
  double composed(const std::vector<IterationPart>& parts) const;

  std::vector<Residual> residuals_;
  ClassErrors classes_;
  ClassErrors rests_;  // of iterations, what their parts leave
};

// Relative scale of a sum of parts whose errors are independent between classes and the same within one.
double composed_scale(const std::vector<UncertainPart>& parts, double total_ms);

// Returns the parts of a setting that no published iteration has, each in words; empty when all of it was measured.
std::vector<std::string> outside_of(const IterationSetting& setting, const std::vector<Residual>& residuals,
                                    const std::string& left_out = "");

// How much longer the longest iteration of plans of planner `search` is than the shortest, relative, where nothing but
// the seed or the order of tables differs: the most that scripts/search_spread.py finds, rounded up (docs/planners.md).
// Of many tables a search tries each less often: up to 80 tables were measured, and from 110 on.
inline double search_spread(std::size_t tables) {
  return tables <= 80 ? 0.03 : 0.13;
}

// The members of an interval, as study/result/result_fields.h has those of a result.

template <typename Visitor>
void fields(Visitor& visit, MaybeConst<IterationSetting> auto& setting) {
  visit.field("software", setting.software);
  visit.field("version", setting.version);
  visit.field("cluster", setting.cluster);
  visit.field("gpu", setting.gpu);
  visit.field("transport", setting.transport);
  visit.field("model", setting.model);
  visit.field("plan", setting.plan);
  visit.field("nodes", setting.nodes);
  visit.field("gpus", setting.gpus);
  visit.field("batch_per_gpu", setting.batch_per_gpu);
  visit(setting.tables);
}

template <typename Visitor>
void fields(Visitor& visit, MaybeConst<UncertainPart> auto& part) {
  visit.field("class", part.error_class);
  visit.field("ms", part.ms);
  visit.field("error_scale", part.scale);
  visit.field("guessed", part.guessed);
  visit(part.fitted_share, part.beneath_ms);
}

template <typename Visitor>
void fields(Visitor& visit, MaybeConst<Interval> auto& interval) {
  visit.field("low_ms", interval.low_ms);
  visit.field("high_ms", interval.high_ms);
  visit.field("coverage", interval.coverage);
  visit.field("basis", interval.basis);
  visit.field("outside", interval.outside);
  visit.field("setting", interval.setting);
  visit.field("drawn_scale", interval.spread_scale);
  visit(interval.placements);
  visit.field("rest_scale", interval.rest_scale);
  visit.field("parts", interval.parts);
}

}  // namespace shardsim
