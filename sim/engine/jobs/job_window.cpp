#include "sim/engine/jobs/job_window.h"

#include <algorithm>

namespace shardsim {

JobWindow::JobWindow(std::vector<double> starts, int iterations)
    : iterations_(iterations),
      latest_start_(*std::max_element(starts.begin(), starts.end())),
      jobs_(starts.size()),
      unsettled_(static_cast<int>(starts.size())),
      unfinished_(unsettled_) {
  for (std::size_t job = 0; job < starts.size(); ++job) jobs_[job].last_end = starts[job];
}

void JobWindow::ended(int index, double when) {
  Job& job = jobs_[index];
  const double began = job.last_end;
  job.last_end = when;
  ++job.ended;
  if (!open_) {
    if (began < latest_start_ || ++job.settled != iterations_) return;
    if (--unsettled_ == 0) open(when);
    return;
  }
  if (job.origin < 0) {
    job.origin = job.ended - 1;
  } else if (job.ended - 1 - job.origin == iterations_) {
    --unfinished_;
  }
}

// An iteration that ends at this very moment is measured from.
void JobWindow::open(double when) {
  open_ = true;
  for (Job& job : jobs_) {
    if (job.ended > 0 && job.last_end == when) job.origin = job.ended - 1;
  }
}

}  // namespace shardsim
