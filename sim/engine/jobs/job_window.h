#pragma once

#include <vector>

namespace shardsim {

// Over which of their iterations jobs that run side by side are measured. From the latest start on, every job lets
// `iterations` pass to settle; when the last one has, each is measured from its next end of an iteration on, while all
// of them run, until every job has ended `iterations` more.
// Why not until two iterations are alike: a job whose iterations are short meets the others in some of them only.
class JobWindow {
 public:
  JobWindow(std::vector<double> starts, int iterations);  // starts: [job] seconds

  void ended(int job, double when);  // an iteration, in the order of time
  bool closed() const { return open_ && unfinished_ == 0; }

  // Ends of iterations so far: the first one that was measured from, and the last.
  struct Measured {
    int origin = 0, last = 0;
    int count() const { return last - origin; }
    double mean(const std::vector<double>& ends) const { return (ends[last] - ends[origin]) / count(); }
  };
  Measured measured(int job) const { return {jobs_[job].origin, jobs_[job].ended - 1}; }

 private:
  struct Job {
    double last_end = 0;  // or its start
    int ended = 0;
    int settled = 0;  // iterations that began when all jobs had started
    int origin = -1;
  };
  void open(double when);

  int iterations_;
  double latest_start_;
  std::vector<Job> jobs_;
  int unsettled_, unfinished_;
  bool open_ = false;
};

}  // namespace shardsim
