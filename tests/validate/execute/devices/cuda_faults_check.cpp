// Checks what the CUDA machine leaves of a run that fails, on the stand-in (cuda_on_cpu/README.md): a rank that dies
// before, in and after each collective of a program with three communicators, a GPU that is too small, refuses a launch
// or breaks, an NCCL that fails, hangs in a call or does not let go. Every rank that is left must end by itself, say
// the first cause, and the measurements must be saved.
#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <csignal>
#include <fstream>
#include <iterator>
#include <set>

#include "tests/validate/execute/cuda_on_cpu/faults.h"
#include "tests/validate/execute/devices/cuda_ranks.h"
#include "tests/validate/execute/ranks.h"
#include "validate/execute/run/execute.h"

using namespace shardsim;
using on_cpu::Faults;

namespace {

constexpr int kRanks = 4, kCollectives = 3;
constexpr int kEarlier = 6 * kCollectives;  // collectives of iterations that have ended before the fault
constexpr int kGaveUp = 3;

Op collective(const std::string& group, OpClass kind, int stream, std::vector<int> after) {
  Op op;
  op.name = group;
  op.group = group;
  op.op_class = kind;
  op.stream = stream;
  op.after = std::move(after);
  op.dtype = "fp32";
  if (kind == OpClass::all_to_all) {
    op.matrix.index = group == "world" ? 0 : 1;
  } else {
    op.bytes = 1024;
  }
  return op;
}

// Two nodes of two ranks. The sum over the rails waits for the exchanges, and its communicator comes first where they
// are taken away one by one.
Program program() {
  Program program;
  program.case_name = "main";
  program.world_size = kRanks;
  program.ranks_per_node = 2;
  program.batch_per_rank = 1;
  program.streams = {"rail", "compute", "world", "node"};
  program.groups = {{"world", {{0, 1, 2, 3}}}, {"node", {{0, 1}, {2, 3}}}, {"rail", {{0, 2}, {1, 3}}}};
  for (const char* const name : {"of the world", "of a node"}) {
    ByteMatrix even;
    even.unit_bytes = 4;
    even.units = {64};
    program.matrices.push_back({name, even});
  }
  Op dense;
  dense.name = "dense";
  dense.stream = 1;
  dense.flops.values = {2.0 * 64 * 64 * 64};
  program.ops = {dense, collective("world", OpClass::all_to_all, 2, {0}),
                 collective("node", OpClass::all_to_all, 3, {0}), collective("rail", OpClass::all_reduce, 0, {1, 2})};
  for (std::size_t id = 0; id < program.ops.size(); ++id) program.ops[id].id = static_cast<int>(id);
  return program;
}

// Who fails, and what the others must say of it.
struct Case {
  std::string name;
  int victim = 1;
  Faults faults;
  std::string cause;
  std::set<int> more_victims = {};
  bool dies = true;       // the victim is killed
  bool measured = true;   // iterations had ended before
  bool gives_up = false;  // the victim must be ended by the watchdog
  int per_node = 2;       // ranks, where they run
};

std::filesystem::path note(const std::filesystem::path& folder, const std::string& what, int rank) {
  return folder / (what + std::to_string(rank));
}

std::string text_of(const std::filesystem::path& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

// Which ranks have spans in what was saved, in the order of ranks.
std::string ranks_with_spans(const Timeline& timeline) {
  std::set<int> ranks;
  for (const Span& span : timeline.spans) ranks.insert(span.rank);
  std::string text = timeline.complete ? "complete" : "";
  for (const int rank : ranks) text += " " + std::to_string(rank);
  return text;
}

int run_rank(const Case& which, const std::filesystem::path& folder, int rank, int port) {
  if (rank == which.victim || which.more_victims.contains(rank)) on_cpu::faults() = which.faults;
  const Program executed = program();
  const auto tell = [&](const std::string& why) { std::ofstream(note(folder, "why", rank)) << why; };
  try {
    const auto rendezvous = Rendezvous::join(test::launch_of(rank, kRanks, port), 30);
    ExecuteOptions options;
    options.device = "cuda";
    options.warmup = 0;
    options.iterations = 1'000'000;
    options.give_up = [&](const std::string& why) {
      tell(why);
      _exit(kGaveUp);
    };
    execute(executed, *rendezvous, options, [&](const Timeline& timeline) {
      std::ofstream(note(folder, "saved", rank)) << ranks_with_spans(timeline);
    });
  } catch (const std::exception& error) {
    tell(error.what());
    return 1;
  }
  return 0;
}

// "" or what is wrong with the end of one rank.
std::string objection(const Case& which, const std::filesystem::path& folder, int rank, int status) {
  const bool victim = rank == which.victim;
  if (victim && which.dies)
    return WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL ? "" : "the rank that was to die did not";
  if (!WIFEXITED(status)) return fmt::format("rank {} did not end by itself", rank);
  const int expected = victim && which.gives_up ? kGaveUp : 1;
  if (WEXITSTATUS(status) != expected) return fmt::format("rank {} ended with {}", rank, WEXITSTATUS(status));
  const std::string why = text_of(note(folder, "why", rank));
  if (why.find(which.cause) == std::string::npos) return fmt::format("rank {} says: {}", rank, why);
  return "";
}

// Rank 0 has the spans of all that are left; without it each rank its own.
std::string saving_objection(const Case& which, const std::filesystem::path& folder) {
  if (!which.measured) return "";
  std::string left;
  for (int rank = 0; rank < kRanks; ++rank) {
    if (rank != which.victim || !which.dies) left += " " + std::to_string(rank);
  }
  const bool headless = which.dies && which.victim == 0;
  for (int rank = headless ? 1 : 0; rank < (headless ? kRanks : 1); ++rank) {
    const std::string expected = headless ? " " + std::to_string(rank) : left;
    const std::string saved = text_of(note(folder, "saved", rank));
    if (saved != expected) return fmt::format("rank {} saved spans of '{}', not of '{}'", rank, saved, expected);
  }
  return "";
}

// "" or what is wrong with the ends of all ranks.
std::string objection(const Case& which, int port) {
  const test::Folder folder;
  const std::vector<int> statuses =
      test::in_processes(kRanks, which.per_node, [&](int rank) { return run_rank(which, folder.path(), rank, port); });
  for (int rank = 0; rank < kRanks; ++rank) {
    const std::string wrong = objection(which, folder.path(), rank, statuses[static_cast<std::size_t>(rank)]);
    if (!wrong.empty()) return wrong;
  }
  return saving_objection(which, folder.path());
}

// In a process of its own, which has a folder for NCCL's messages; it ends with 0 where all is as it should be.
pid_t start(const Case& which, int port) {
  std::fflush(stdout);
  const pid_t id = fork();
  if (id != 0) return id;
  const std::string wrong = objection(which, port);
  fmt::print("{}: {}\n", which.name, wrong.empty() ? "as it should" : wrong);
  std::fflush(stdout);
  _exit(wrong.empty() ? 0 : 1);
}

// Some cases at a time: most of their time they wait for signs that do not come.
bool all_hold(const std::vector<Case>& cases) {
  constexpr std::size_t kAtATime = 6;
  std::set<int> ports;  // of all cases, since one that is free now may be another case's soon
  while (ports.size() < cases.size()) ports.insert(test::free_port());
  std::size_t under_way = 0;
  bool all = true;
  const auto await_one = [&] {
    int status = 0;
    all &= wait(&status) > 0 && status == 0;
    --under_way;
  };
  auto port = ports.begin();
  for (const Case& each : cases) {
    if (under_way == kAtATime) await_one();
    all &= start(each, *port++) > 0;
    ++under_way;
  }
  while (under_way > 0) await_one();
  return all;
}

std::vector<Case> deaths() {
  std::vector<Case> cases;
  const std::string names[] = {"world", "node", "rail"};
  for (int number = 0; number < kCollectives; ++number) {
    for (const auto& [when, text] : {std::pair{Faults::When::before, "before"}, std::pair{Faults::When::in, "in"},
                                     std::pair{Faults::When::after, "after"}}) {
      Case& dead = cases.emplace_back();
      dead.name = fmt::format("a rank dies {} the collective '{}'", text, names[number]);
      dead.faults.dies_at = kEarlier + number;
      dead.faults.when = when;
      dead.cause = "rank 1 died";
    }
  }
  Case& headless = cases.emplace_back(cases[4]);
  headless.name = "rank 0 dies in a collective";
  headless.victim = 0;
  headless.cause = "rank 0 died";
  return cases;
}

Case failing(const std::string& name, const std::string& cause) {
  Case broken;
  broken.name = name;
  broken.victim = 2;
  broken.cause = cause;
  broken.dies = false;
  return broken;
}

std::vector<Case> failures() {
  Case memory = failing("a GPU is too small", "out of GPU memory");
  memory.faults.memory = 20'000;
  memory.measured = false;
  Case launch = failing("a GPU refuses a launch", "CUDA says 'an error of the stand-in for CUDA'");
  launch.faults.refused_kernel = 20;
  Case kernel = failing("a kernel reads foreign memory", "CUDA says 'an illegal memory access was encountered'");
  kernel.faults.faulty_kernel = 20;
  Case nccl = failing("NCCL reports an error", "NCCL says 'an error of the stand-in for NCCL'");
  nccl.faults.breaks_at = kEarlier;
  Case call = failing("a call of NCCL hangs while a peer reports", "NCCL says");
  call.faults.breaks_at = kEarlier;
  call.faults.hangs_at = kEarlier + 4;
  Case abort = failing("NCCL does not let go", "CUDA says 'an error of the stand-in for CUDA'");
  abort.faults.refused_kernel = 20;
  abort.faults.abort_hangs = true;
  abort.gives_up = true;
  Case shared = failing("two ranks were told the same GPU", "ranks 2 and 3 use the same GPU, GPU-63000000");
  shared.faults.gpu = 99;
  shared.more_victims = {3};
  shared.measured = false;
  Case driver = failing("the driver is older than the toolkit", "insufficient for CUDA runtime version");
  driver.faults.no_devices = cudaErrorInsufficientDriver;
  driver.measured = false;
  Case image = failing("the build has no code for this GPU", "Build on this machine");
  image.faults.refused_kernel = 0;
  image.faults.refusal = cudaErrorNoKernelImageForDevice;
  image.measured = false;
  Case nodes =
      failing("more ranks on a node than the program has", "has 4 of the ranks (ranks 0 to 3), and the program has 2");
  nodes.per_node = kRanks;
  nodes.measured = false;
  return {memory, launch, kernel, nccl, call, abort, shared, driver, image, nodes};
}

}  // namespace

int main() {
  std::vector<Case> cases = deaths();
  for (Case& each : failures()) cases.push_back(std::move(each));
  return all_hold(cases) ? 0 : 1;
}
