#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/result_folder.h"

namespace shardsim {

// A sweep as an array of Slurm tasks, each of which does one part of it.
struct SlurmJob {
  std::string name;
  int tasks = 1;
  int cpus = 1;                      // of a task: its processes
  std::filesystem::path folder;      // where the script and what tasks print go
  std::vector<std::string> command;  // of a task, without its part
  ResultWriter writer;               // of the script
};

// The script for sbatch: directives, and the command with "--part NUMBER/TASKS".
std::string slurm_script(const SlurmJob& job);

// Writes the script into the folder and hands it to sbatch; returns the number of the job. Options that the script does
// not state come from the environment, as sbatch has it (SBATCH_PARTITION). Errors (Failure::run): no sbatch here; what
// sbatch says when it refuses, or does not reach slurmctld.
std::string submit_slurm_job(const SlurmJob& job);

}  // namespace shardsim
