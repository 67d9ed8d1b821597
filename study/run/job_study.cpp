#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/text.h"
#include "sim/engine/jobs/job_engine.h"
#include "study/notes/notes.h"
#include "study/run/case_result.h"
#include "study/run/published_comparison.h"

namespace shardsim {
namespace {

bool starts_earlier(const PreparedCase* a, const PreparedCase* b) {
  return a->item.job->start.value < b->item.job->start.value;
}

}  // namespace

std::vector<JobSimulation> simulated_side_by_side(const std::vector<const PreparedCase*>& jobs, const WorksEdit& edit) {
  const Case& first = jobs.front()->item;
  const auto compute = make_compute_model(first.compute_model);
  std::vector<JobRun> runs;
  for (const PreparedCase* job : jobs) {
    const Case& item = job->item;
    runs.push_back(
        {item.name, item.place, job->program(), job->cluster, *compute, engine_options(item), item.job->start, edit});
  }
  return done_in_case(first, [&] { return simulate_jobs(runs, Cluster(first.cluster), *make_network(first.network)); });
}

std::string shared_fabric_text(int measured, double mean_ms, double kept_ms) {
  return fmt::format(
      "Jobs share the fabric: this is the path of one iteration, {:.4g} ms, the nearest to the mean of {}, {:.4g} ms.",
      kept_ms, measured, mean_ms);
}

void check_lengths(const JobGroup& group) {
  std::map<const PreparedCase*, double> estimates;
  for (const PreparedCase* job : group.jobs) estimates[job] = uncontended_ms(*job);
  const auto shorter = [&](const PreparedCase* a, const PreparedCase* b) { return estimates[a] < estimates[b]; };
  const PreparedCase* const latest = *std::ranges::max_element(group.jobs, starts_earlier);
  const PreparedCase* const longest = *std::ranges::max_element(group.jobs, shorter);
  for (const PreparedCase* job : group.jobs) {
    const double wait = (latest->item.job->start.value - job->item.job->start.value) * 1e3 / estimates[job];
    if (wait > kMostJobIterations) {
      throw input_error(
          latest->item.job->start_place,
          fmt::format("job {} would run {:.3g} iterations of about {:.3g} ms before job {} starts",
                      excerpt(job->item.name), wait, estimates[job], excerpt(latest->item.name)),
          fmt::format("Start the jobs closer together: at most {} iterations", with_thousands(kMostJobIterations)));
    }
    const double beside = 2 * job->item.iterations * estimates[longest] / estimates[job];
    if (wait + beside <= kMostJobIterations) continue;
    throw input_error(
        job->item.place,
        fmt::format("job {} would run {:.3g} iterations of about {:.3g} ms beside {} of {:.3g} ms of job {}",
                    excerpt(job->item.name), beside, estimates[job], 2 * job->item.iterations, estimates[longest],
                    excerpt(longest->item.name)),
        "Simulate jobs whose iterations are of more similar length, or lower 'iterations'");
  }
}

double iteration_alone_ms(const PreparedCase& job) {
  return simulated_side_by_side({&job}, {}).front().simulation.timeline.iteration_ms;
}

std::vector<CaseResult> simulated_jobs(const JobGroup& group, const std::vector<bool>& pareto) {
  std::vector<CaseResult> results;
  for (JobSimulation& simulated : simulated_side_by_side(group.jobs, {})) {
    const PreparedCase& job = *group.jobs[results.size()];
    CaseResult result =
        described_case(job, std::move(simulated.simulation), uncontended_ms(job), pareto[results.size()]);
    const JobPart& part = *job.item.job;
    if (result.why)
      result.why->left_out.push_back(
          shared_fabric_text(simulated.measured, result.iteration_ms, result.why->iteration_ms));
    // The time alone is another worker's to say.
    result.job = {group.fabric,          part.nodes,          part.start.ms(), 0, simulated.measured,
                  simulated.shortest_ms, simulated.longest_ms};
    result.notes = notes_for(Asker::run, {job.item, &job, &result});
    result.published = compared_with_published(result, job.item.published, [&] { return KernelParts::of(job); });
    results.push_back(std::move(result));
  }
  return results;
}

}  // namespace shardsim
