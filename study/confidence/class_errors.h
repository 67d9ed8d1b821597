#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "study/confidence/residuals.h"

namespace shardsim {

// The errors of predictions of one class. Errors are ln(observed / predicted). They are assumed to follow Student's t
// distribution with 4 degrees of freedom around 0, which has heavy tails, times a scale. The mean absolute error of
// this distribution equals the scale, so that no fit is needed. The errors of one system say little about another
// system, so the scale of a class is the mean over its systems of their mean absolute errors, however many rows a
// system has. A class of few systems is pulled towards the class above it, which counts as much as kParentSystems
// systems. Where a network was hardly measured, what sets it apart from the others is a guess beside that
// (guessed_constant_scale()).
class ClassErrors {
 public:
  explicit ClassErrors(std::map<std::string, std::map<std::string, double>> sizes) : sizes_(std::move(sizes)) {}

  // Takes the rows that nothing was fitted to.
  explicit ClassErrors(const std::vector<Residual>& residuals);

  // The scale of errors of class "a/b/c", found from "a" down; classes nobody measured have the scale of the one above
  // them. `left_out`: a system that must not judge itself; "": none. A class of which nothing at all is known has the
  // scale of a guess.
  double scale(const std::string& error_class, const std::string& left_out = "") const;
  int systems(const std::string& error_class, const std::string& left_out = "") const;

  const std::map<std::string, std::map<std::string, double>>& sizes() const { return sizes_; }

 private:
  std::map<std::string, std::map<std::string, double>> sizes_;  // by class, those above others too, and system
};

inline constexpr double kParentSystems = 3;
inline constexpr double kErrorFreedom = 4;  // degrees of freedom
inline constexpr double kCoverage = 0.8;

// The sizes by which calls of a collective are divided into classes, in ascending order; a component of the class's
// name.
inline constexpr std::array<std::string_view, 4> kSizeClasses = {"below 64 KiB", "64 KiB to 1 MiB", "1 MiB to 64 MiB",
                                                                 "from 64 MiB"};
std::string_view size_class(std::int64_t bytes);

// A class without its size: "collective/rdma/all_to_all" of "collective/rdma/from 64 MiB/all_to_all", whose size is 3,
// its place in kSizeClasses. Classes without a size are of size 0 and keep their name.
struct SizedClass {
  std::string kind;
  int size = 0;
  auto operator<=>(const SizedClass&) const = default;
};
SizedClass sized_class(const std::string& error_class);

// The correlation of the mean errors of a system between neighbouring sizes of one kind of collective: Pearson's about
// 0, over the 37 pairs of classes of which scenarios/accuracy/residuals.csv has both, foreign collectives left out. Two
// sizes apart it is 0.49 (20 pairs), near the square of this.
inline constexpr double kNeighbourCorrelation = 0.67;

// The scale of a part of which nothing was published: within a factor of 1.5 in four cases of five.
double guess_scale();
// The scale that a guessed constant adds to a part, which hangs on others too: a factor of 1.25 in four cases of five.
double guessed_constant_scale();
// Between which four errors in five lie: -x and +x, of an error of scale 1.
double coverage_quantile();
// Returns the chance that an error of scale 1 is at most `value`.
double error_chance(double value);

}  // namespace shardsim
