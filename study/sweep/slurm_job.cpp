#include "study/sweep/slurm_job.h"

#include <fmt/format.h>
#include <sys/wait.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "base/error.h"
#include "base/result_folder.h"
#include "base/text.h"

namespace shardsim {
namespace {

namespace fs = std::filesystem;

constexpr int kNoSuchCommand = 127;  // as a shell says

// A file name in a directive: % stands for what tasks differ in, and the quotes of a directive know no escapes.
std::string directive_path(const fs::path& path) {
  std::string text;
  for (const char c : path.string()) {
    if (c == '"' || c == '\n')
      throw input_error({path.string()}, "a Slurm job cannot have a name with quotes or line ends",
                        "Choose another -o");
    text += c == '%' ? std::string("%%") : std::string(1, c);
  }
  return text;
}

struct CommandOutput {
  int code = 0;
  std::string text;
};

CommandOutput output_of(const std::string& command) {
  std::FILE* const pipe = ::popen((command + " 2>&1").c_str(), "r");
  if (pipe == nullptr) throw run_error(std::string("cannot start a shell: ") + std::strerror(errno), "");
  CommandOutput output;
  char buffer[4096];
  for (std::size_t got = 0; (got = std::fread(buffer, 1, sizeof buffer, pipe)) > 0;) output.text.append(buffer, got);
  const int status = ::pclose(pipe);
  output.code = WIFEXITED(status) ? WEXITSTATUS(status) : 1;
  return output;
}

std::string one_line(std::string text) {
  while (!text.empty() && text.back() == '\n') text.pop_back();
  for (std::size_t at = text.find('\n'); at != std::string::npos; at = text.find('\n')) text.replace(at, 1, "; ");
  return printable(text);
}

// The output of the tasks is written by Slurm, which follows links.
void refuse_links(const SlurmJob& job) {
  std::error_code absent;
  for (int task = 0; task < job.tasks; ++task) {
    const fs::path file = job.folder / fmt::format("slurm-{}.txt", task);
    if (fs::is_symlink(file, absent))
      throw run_error(file.string() + ": a link is in the way of what the tasks print",
                      "Remove it, or choose another folder with -o");
  }
}

}  // namespace

std::string slurm_script(const SlurmJob& job) {
  std::string command;
  for (const std::string& word : job.command) command += shell_quoted(word) + " ";
  return fmt::format(
      "#!/bin/sh\n"
      "#SBATCH --job-name={}\n"
      "#SBATCH --array=0-{}\n"
      "#SBATCH --ntasks=1\n"
      "#SBATCH --cpus-per-task={}\n"
      "#SBATCH --requeue\n"
      "#SBATCH --open-mode=append\n"
      "#SBATCH --output=\"{}/slurm-%a.txt\"\n"
      "cd {} || exit 1\n"
      "exec {}--part \"$SLURM_ARRAY_TASK_ID/{}\"\n",
      job.name, job.tasks - 1, job.cpus, directive_path(job.folder), shell_quoted(fs::current_path().string()), command,
      job.tasks);
}

std::string submit_slurm_job(const SlurmJob& job) {
  const fs::path script = job.folder / "sweep.sbatch";
  refuse_links(job);
  write_result(script, job.writer, slurm_script(job));
  const CommandOutput said = output_of("sbatch --parsable " + shell_quoted(script.string()));
  if (said.code == kNoSuchCommand)
    throw run_error("the command sbatch, which submits the job array, was not found",
                    "Run it on a machine with Slurm, or use -j N");
  if (said.code != 0)
    throw run_error(fmt::format("sbatch has refused {}: {}", script.string(), one_line(said.text)),
                    "Set what your site asks for in the environment (SBATCH_PARTITION), or run it with -j N");
  const std::string number = one_line(said.text);
  return number.substr(0, number.find(';'));  // the cluster's name may follow
}

}  // namespace shardsim
