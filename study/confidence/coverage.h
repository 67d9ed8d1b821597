#pragma once

#include <array>
#include <string>
#include <vector>

#include "base/document/document.h"
#include "study/confidence/interval.h"

namespace shardsim {

// The share of the intervals of one kind of predictions that hold what was observed; each is judged by errors that
// leave its own system out.
struct CoverageFigures {
  std::string kind;  // "iterations", "collectives", or a class of them
  int rows = 0, systems = 0;
  double held = 0;            // share of the rows
  double held_by_system = 0;  // the same, each system weighing the same
  double width = 1;           // median of high / low
};

// Two runs of the same model and software, by their indices among those that are ranked.
struct RankedPair {
  std::string first, second;
  double observed = 0, predicted = 0;  // ln(second / first)
  double chance = 0.5;                 // stated for two that differ tellingly: that the named one is the faster one
  bool hit() const { return observed * predicted > 0; }
};

struct ChanceBin {
  double from = 0.5, upto = 1;
  int pairs = 0, hits = 0;
  double stated = 0;  // mean chance
};

struct Coverage {
  std::vector<CoverageFigures> figures;
  std::vector<RankedPair> pairs;
  std::array<ChanceBin, 3> bins;
};

// The coverage of everything that the model knows. Pairs: published and emulated runs that differ in plan, cluster or
// number of GPUs, with the same batch or the same batch per GPU, and by more than 5 % in the observed time; runs that
// differ in nothing of this are averaged first.
Coverage coverage_of(const ErrorModel& model);

// The tables of docs/confidence.md.
Document coverage_document(const Coverage& coverage, const ErrorModel& model);

}  // namespace shardsim
