// The CUDA machine where no GPU is: every rank is a process that runs the source of the kernels on the CPU and passes
// the bytes of NCCL on as files (cuda_on_cpu/README.md). Its data must equal those of a single process, bit for bit.
#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "tests/validate/execute/ranks.h"
#include "tests/validate/execute/sample_programs.h"
#include "validate/execute/run/execute.h"

using namespace shardsim;

namespace {

constexpr unsigned kPatience = 120;  // seconds for one program

// What one rank finds; as a process it ends with it.
int run_rank(const Program& program, int rank, int port) {
  alarm(kPatience);
  try {
    const std::unique_ptr<Rendezvous> rendezvous =
        Rendezvous::join(test::launch_of(rank, program.world_size, port), 30);
    ExecuteOptions options;
    options.device = "cuda";
    const std::string difference = check_data(program, *rendezvous, options, 3);
    if (rank == 0 && !difference.empty()) fmt::print("{}\n", difference);
    rendezvous->leave();
    return difference.empty() ? 0 : 1;
  } catch (const std::exception& error) {
    fmt::print("{}\n", error.what());
  }
  return 1;
}

// Ranks that did not end well.
int failures(const Program& program) {
  const int port = test::free_port();
  std::fflush(stdout);
  std::vector<pid_t> ranks;
  for (int rank = 0; rank < program.world_size; ++rank) {
    const pid_t id = fork();
    if (id == 0) {
      const int code = run_rank(program, rank, port);
      std::fflush(stdout);
      _exit(code);
    }
    ranks.push_back(id);
  }
  int failed = 0;
  for (const pid_t id : ranks) {
    int status = 0;
    if (waitpid(id, &status, 0) != id || status != 0) ++failed;
  }
  return failed;
}

bool holds(const std::string& what, const Program& program) {
  const int failed = failures(program);
  fmt::print("{}: {}\n", what, failed == 0 ? "as a single process" : fmt::format("{} ranks failed", failed));
  return failed == 0;
}

// A folder for the messages, and gone with this.
class Folder {
 public:
  Folder() {
    std::string path = (std::filesystem::temp_directory_path() / "cuda_on_cpu_XXXXXX").string();
    if (mkdtemp(path.data()) == nullptr) throw run_error("no temporary folder", "");
    path_ = path;
    setenv("TMPDIR", path.c_str(), 1);
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

 private:
  std::filesystem::path path_;
};

}  // namespace

int main() {
  const Folder folder;
  bool all = holds("sequences in three tiers", sample::toy_program());
  const Workload pooled = sample::workload(sample::kPooledTables);
  for (const Strategy strategy : sample::strategies()) {
    all &= holds("pooled " + std::string(strategy_name(strategy)),
                 sample::lowered(std::vector<Strategy>{strategy}, pooled));
  }
  for (const char* const pipeline : {"sparse_dist", "prefetch_sparse_dist"}) {
    all &= holds(std::string("all types, ") + pipeline, sample::mixed_program(pipeline));
  }
  return all ? 0 : 1;
}
