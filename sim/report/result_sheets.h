#pragma once

#include <string>
#include <vector>

#include "sim/report/sheet.h"
#include "sim/study/result.h"

namespace shardsim {

// The tables of a result, the same on a terminal and in the report.

struct WorkloadCases {
  std::string workload;
  std::vector<const CaseResult*> cases;  // fastest first
};
std::vector<WorkloadCases> by_workload(const StudyResult& study);  // workloads in the scenario's order

// The case's name without the part that its workload's heading already says ("rm1/row_wise" -> "row_wise").
std::string short_name(const CaseResult& item);

Sheet cases_sheet(const StudyResult& study);  // under a heading per workload
Sheet jobs_sheet(const StudyResult& study);   // under a heading per fabric; no rows without jobs
// Under a heading per case; `most`: of so many cases of each workload, the fastest.
Sheet collectives_sheet(const StudyResult& study, std::size_t most);
// "14.6 of 17.6 ms exposed is waiting for rank 3, update_history".
std::string waiting_text(const NamedTime& time, int places);
// A line for each of their collectives whose exposed time is waiting to a telling part, with whom it waits for.
std::vector<std::string> waiting_lines(const StudyResult& study, std::size_t most);
constexpr std::size_t kManyCases = 16;  // more than fit on a screen
bool has_many_cases(const StudyResult& study);

// Whether the cases differ in their plans alone: as many GPUs of the same cluster, and the same batch. Else their times
// are no choice between plans.
bool is_one_choice(const WorkloadCases& group);
// Under a heading per case; no rows when nothing is published.
Sheet published_sheet(const StudyResult& study, bool with_source);
Sheet constants_sheet(const StudyResult& study);  // the fitted constants

// What the columns of the jobs mean.
std::string jobs_legend();

// A few words on what the roles and the two payloads mean.
std::string published_legend(const StudyResult& study);

}  // namespace shardsim
