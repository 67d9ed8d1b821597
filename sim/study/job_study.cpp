#include "sim/study/job_study.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/text.h"
#include "sim/study/study.h"

namespace shardsim {
namespace {

// Milliseconds of an iteration when nothing is contended.
double estimate_ms(const PreparedCase& job, const Scenario& scenario) {
  return simulate_case(job, scenario, named_map("closed_form"), false).timeline.iteration_ms;
}

bool starts_earlier(const PreparedCase* a, const PreparedCase* b) {
  return a->item.job->start.value < b->item.job->start.value;
}

}  // namespace

std::vector<JobGroup> job_groups(const std::vector<PreparedCase>& prepared) {
  std::vector<JobGroup> groups;
  std::map<std::string, std::size_t> known;
  for (const PreparedCase& each : prepared) {
    if (!each.item.job) continue;
    const auto [entry, added] = known.try_emplace(each.item.job->fabric, groups.size());
    if (added) groups.emplace_back();
    groups[entry->second].push_back(&each);
  }
  return groups;
}

std::vector<JobSimulation> simulate_group(const JobGroup& group, const Scenario& scenario) {
  const Case& first = group.front()->item;
  const Cluster fabric(first.cluster);
  const auto compute = make_compute_model(first.compute_model);
  std::vector<Program> programs;
  for (const PreparedCase* job : group) {
    programs.push_back(make_program(job->item, job->cluster, job->plan, scenario, false));
  }
  std::vector<JobRun> runs;
  for (std::size_t i = 0; i < group.size(); ++i) {
    const Case& item = group[i]->item;
    runs.push_back(
        {item.name, item.place, programs[i], group[i]->cluster, *compute, engine_options(item), item.job->start});
  }
  return simulate_jobs(runs, fabric, *make_network(first.network));
}

void check_lengths(const JobGroup& group, const Scenario& scenario) {
  std::map<const PreparedCase*, double> estimates;
  for (const PreparedCase* job : group) estimates[job] = estimate_ms(*job, scenario);
  const auto shorter = [&](const PreparedCase* a, const PreparedCase* b) { return estimates[a] < estimates[b]; };
  const PreparedCase* const latest = *std::ranges::max_element(group, starts_earlier);
  const PreparedCase* const longest = *std::ranges::max_element(group, shorter);
  for (const PreparedCase* job : group) {
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
        "Put jobs of more like lengths on one fabric, or lower 'iterations'");
  }
}

}  // namespace shardsim
