#pragma once

#include <functional>
#include <string>
#include <vector>

#include "python/core/request.h"
#include "study/result/result.h"

namespace shardsim::python {

// Every case of the request that one of `cases` fits (all when it is empty), as `shardsim run` has them: result.json,
// the report and the Timelines are the same bytes. Errors: those of run_study(); a pattern that fits none.
StudyResult run_request(const Request& request, const std::vector<std::string>& cases, int jobs,
                        const std::function<void(int done, int total)>& progress);

// Writes report.html, result.json and timeline.h5 into `folder`, as `shardsim run -o` does; `force`: as --force.
// Returns the path of the report. Errors: those of write_folder().
std::string write_study(const StudyResult& study, const std::string& folder, bool force);

}  // namespace shardsim::python
