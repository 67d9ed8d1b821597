#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "base/document/document.h"
#include "study/result/result.h"

namespace shardsim {

// One published iteration of a study, and all of a source: the first two parts of their cases' names, "v3.1/h100".
struct PublishedIteration {
  const CaseResult* result;
  const Comparison* comparison;
};
struct IterationGroup {
  std::string name;
  std::vector<PublishedIteration> items;
};

// By source, in the order they come up. Empty where fewer than six iterations or one source are published, and where
// more than a tenth as many other numbers are: then every quantity of a case stands below it instead.
std::vector<IterationGroup> published_iterations(const StudyResult& study);

// True when a published number is one of these, if they stand by source.
bool of_sources(const Comparison& comparison);

// True when some published number of the study is as the test says.
template <class Test>
bool any_comparison(const StudyResult& study, Test test) {
  return std::ranges::any_of(study.cases,
                             [&](const CaseResult& item) { return std::ranges::any_of(item.published, test); });
}

// "log (median of 2)": the source with its note.
std::string source_text(const Published& published);

std::string source_of(const std::string& case_name);     // "v3.1" of v3.1/h100/8x55296
std::string source_group(const std::string& case_name);  // "v3.1/h100"

Sheet published_iterations_sheet(const std::vector<IterationGroup>& groups, Medium medium);

// A row per source and one over all: how many of each role, medians, and the worst of those that are predicted.
Sheet source_errors_sheet(const std::vector<IterationGroup>& groups);
std::string iterations_legend(const StudyResult& study);

// "predicted", "predicted, seen before", "48 % fitted", "fitted"; and what those of a study mean.
std::string role_text(const Comparison& comparison);
std::string roles_legend(const StudyResult& study);

}  // namespace shardsim
