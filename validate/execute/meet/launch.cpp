#include "validate/execute/meet/launch.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <vector>

#include "base/error.h"
#include "base/text.h"
#include "validate/execute/meet/secret.h"

namespace shardsim {
namespace {

constexpr long kMostTasks = 1'000'000;

Error bad_list(std::string_view text, const Place& place, std::string_view example) {
  return input_error(place, fmt::format("{} is not a list as Slurm writes it", excerpt(text)),
                     fmt::format("It should look like {}", example));
}

std::optional<long> written_count(std::string_view text) {
  const std::optional<long> number = whole_number<long>(text);
  return number.value_or(-1) < 0 ? std::nullopt : number;
}

// Parts between commas that are outside brackets.
std::vector<std::string_view> split_outside_brackets(std::string_view text) {
  std::vector<std::string_view> parts;
  std::size_t begin = 0;
  bool inside = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '[' || text[i] == ']') inside = text[i] == '[';
    if (text[i] != ',' || inside) continue;
    parts.push_back(text.substr(begin, i - begin));
    begin = i + 1;
  }
  parts.push_back(text.substr(begin));
  return parts;
}

bool is_range(std::string_view range) {
  const std::size_t dash = range.find('-');
  const std::optional<long> from = written_count(range.substr(0, dash));
  const std::optional<long> to = dash == range.npos ? from : written_count(range.substr(dash + 1));
  return from && to && *from <= *to;
}

// A name with the first number of each of its brackets; empty where it is malformed.
std::string first_of_name(std::string_view text) {
  std::string name;
  while (!text.empty()) {
    const std::size_t open = text.find('[');
    name += text.substr(0, open);
    if (open == text.npos) break;
    const std::size_t close = text.find(']', open);
    if (close == text.npos) return {};
    const std::vector<std::string_view> ranges = split_outside_brackets(text.substr(open + 1, close - open - 1));
    if (!std::ranges::all_of(ranges, is_range)) return {};
    name += ranges.front().substr(0, ranges.front().find('-'));
    text.remove_prefix(close + 1);
  }
  return name.find(']') == std::string::npos ? name : "";
}

}  // namespace

std::string first_node(std::string_view text, const Place& place) {
  std::vector<std::string> first;
  for (std::string_view part : split_outside_brackets(text)) first.push_back(first_of_name(part));
  if (std::ranges::find(first, "") != first.end()) throw bad_list(text, place, "gpu[01-04,07],x1");
  return first.front();
}

std::vector<int> expand_tasks_per_node(std::string_view text, const Place& place) {
  std::vector<int> tasks;
  for (std::string_view part : split_outside_brackets(text)) {
    const std::size_t open = part.find("(x");
    std::optional<long> times = 1;
    if (open != part.npos) {
      if (part.back() != ')') throw bad_list(text, place, "4(x2),3");
      times = written_count(part.substr(open + 2, part.size() - open - 3));
    }
    const std::optional<long> each = written_count(part.substr(0, open));
    if (!each || !times || *each > kMostTasks || *times > kMostTasks) throw bad_list(text, place, "4(x2),3");
    tasks.insert(tasks.end(), static_cast<std::size_t>(*times), static_cast<int>(*each));
  }
  return tasks;
}

namespace {

Place place_of(const char* name) {
  return {fmt::format("environment variable {}", name), 0, 0};
}

// Reads variables; one that is empty counts as not set, as in most launchers.
struct Variables {
  const Environment& environment;

  const char* text(const char* name) const {
    const char* value = environment(name);
    return value != nullptr && *value != '\0' ? value : nullptr;
  }

  const char* needed_text(const char* name, const char* because) const {
    if (const char* value = text(name)) return value;
    throw input_error(place_of(name), fmt::format("not set, although {} is", because),
                      "Start the ranks with torchrun, mpirun or srun, or set all of the launcher's variables");
  }

  std::optional<int> number(const char* name) const {
    const char* value = text(name);
    if (value == nullptr) return std::nullopt;
    const std::optional<long> result = written_count(value);
    if (!result || *result > std::numeric_limits<int>::max())
      throw input_error(place_of(name), fmt::format("{} is not a whole number of 0 or more", excerpt(value)),
                        "Set it to digits alone");
    return static_cast<int>(*result);
  }

  int needed(const char* name, const char* because) const {
    needed_text(name, because);
    return *number(name);
  }
};

// The names that a launcher gives to the numbers which every launcher has.
struct Names {
  const char *rank, *world, *local_rank, *local_size;
};

constexpr Names kTorchrun = {"RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE"};
constexpr Names kOpenMpi = {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK",
                            "OMPI_COMM_WORLD_LOCAL_SIZE"};

void check(const Launch& launch, const Names& names) {
  if (launch.world_size < 1)
    throw input_error(place_of(names.world), "the number of ranks is 0", "Set it to the number of ranks");
  if (launch.rank >= launch.world_size)
    throw input_error(place_of(names.rank),
                      fmt::format("rank {} is outside a world of {}", launch.rank, launch.world_size),
                      "Ranks count from 0");
  if (launch.local_size < 1 || launch.local_size > launch.world_size)
    throw input_error(place_of(names.local_size),
                      fmt::format("{} ranks on a node of a world of {}", launch.local_size, launch.world_size),
                      "Set it to the number of ranks on this node");
  if (launch.local_rank >= launch.local_size)
    throw input_error(place_of(names.local_rank),
                      fmt::format("local rank {} on a node that has {} ranks", launch.local_rank, launch.local_size),
                      "Local ranks count from 0");
}

void read_master(const Variables& variables, Launch& launch) {
  if (const char* host = variables.text("MASTER_ADDR")) launch.master_host = host;
  if (const std::optional<int> port = variables.number("MASTER_PORT")) launch.master_port = *port;
  if (launch.master_port < 1 || launch.master_port > 65535)
    throw input_error(place_of("MASTER_PORT"), fmt::format("there is no port {}", launch.master_port),
                      "Set it to a free port from 1024 to 65535");
}

constexpr int kAgentOffset = 1000;  // from torchrun's port to one of our own
constexpr int kAgentTries = 3;

// Ports that lie apart from `port`, which torchrun's agent may use.
std::vector<int> ports_beside(int port) {
  std::vector<int> ports;
  for (int i = 1; i <= kAgentTries; ++i) {
    const int up = port + i * kAgentOffset;
    ports.push_back(up <= 65535 ? up : port - i * kAgentOffset);
  }
  return ports;
}

// All ranks read the same variables, so they agree on the ports without a word. The name of a run of torchrun may be
// the same for all of them ("none"); with the port that it was given no two runs on a host are called alike.
void avoid_agent(const Variables& variables, Launch& launch) {
  const char* const id = variables.text("TORCHELASTIC_RUN_ID");
  const char* const shared = variables.text("TORCHELASTIC_USE_AGENT_STORE");
  if (id == nullptr && shared == nullptr) return;
  launch.run = fmt::format("{} at {}", id == nullptr ? "" : id, launch.master_port);
  launch.other_ports = ports_beside(launch.master_port);
  if (shared == nullptr || std::string_view(shared) != "True") return;
  launch.master_port = launch.other_ports.front();
  launch.other_ports.erase(launch.other_ports.begin());
}

// Where nothing says who is on this node, and nobody names another host, all are.
Launch with_names(const Variables& variables, const Names& names, std::string launcher) {
  Launch launch;
  launch.launcher = std::move(launcher);
  launch.rank = variables.needed(names.rank, names.world);
  launch.world_size = variables.needed(names.world, names.rank);
  if (variables.text("MASTER_ADDR") != nullptr || variables.text(names.local_rank) != nullptr ||
      variables.text(names.local_size) != nullptr) {
    launch.local_rank = variables.needed(names.local_rank, names.rank);
    launch.local_size = variables.needed(names.local_size, names.rank);
  } else {
    launch.local_rank = launch.rank;
    launch.local_size = launch.world_size;
  }
  check(launch, names);
  if (launch.local_size < launch.world_size && variables.text("MASTER_ADDR") == nullptr)
    throw input_error(place_of("MASTER_ADDR"), "not set, although the ranks are on several nodes",
                      "Set it on every rank to the host name of rank 0, and MASTER_PORT to a port that is free there");
  read_master(variables, launch);
  return launch;
}

const char* first_set(const Variables& variables, const std::vector<const char*>& names) {
  for (const char* name : names)
    if (variables.text(name) != nullptr) return name;
  return nullptr;
}

int slurm_local_size(const Variables& variables, const Launch& launch) {
  const char* name = first_set(variables, {"SLURM_STEP_TASKS_PER_NODE", "SLURM_TASKS_PER_NODE"});
  if (name == nullptr) return variables.number("SLURM_NTASKS_PER_NODE").value_or(launch.world_size);
  const std::vector<int> tasks = expand_tasks_per_node(variables.text(name), place_of(name));
  const int node = variables.number("SLURM_NODEID").value_or(0);
  if (node >= static_cast<int>(tasks.size()))
    throw input_error(place_of("SLURM_NODEID"), fmt::format("node {} of {}", node, tasks.size()),
                      fmt::format("{} names fewer nodes", name));
  return tasks[node];
}

// Steps of one job that run side by side need ports of their own; 20000 to 29999 are no ephemeral ports on Linux.
int slurm_port(const Variables& variables) {
  const int job = variables.number("SLURM_JOB_ID").value_or(0);
  const int step = variables.number("SLURM_STEP_ID").value_or(0);
  return 20000 + (job % 10000 + step % 10000) % 10000;
}

Launch from_slurm(const Variables& variables) {
  const char* world = first_set(variables, {"SLURM_STEP_NUM_TASKS", "SLURM_NTASKS"});
  const char* local_size = first_set(variables, {"SLURM_STEP_TASKS_PER_NODE", "SLURM_TASKS_PER_NODE"});
  const Names names = {"SLURM_PROCID", world != nullptr ? world : "SLURM_NTASKS", "SLURM_LOCALID",
                       local_size != nullptr ? local_size : "SLURM_NTASKS_PER_NODE"};
  Launch launch;
  launch.launcher = "Slurm";
  launch.rank = variables.needed(names.rank, "SLURM_STEP_ID");
  launch.world_size = variables.needed(names.world, names.rank);
  launch.local_rank = variables.needed(names.local_rank, names.rank);
  launch.local_size = slurm_local_size(variables, launch);
  check(launch, names);
  const char* list = first_set(variables, {"SLURM_STEP_NODELIST", "SLURM_JOB_NODELIST", "SLURM_NODELIST"});
  if (launch.local_size == launch.world_size) {
    // All on this node: rank 0 stays at the loopback address, which no other machine reaches.
  } else if (list != nullptr)
    launch.master_host = first_node(variables.text(list), place_of(list));
  else if (variables.text("MASTER_ADDR") == nullptr)
    throw input_error(place_of("SLURM_STEP_NODELIST"), "not set, although the ranks are on several nodes",
                      "Set MASTER_ADDR to the host name of rank 0");
  launch.master_port = slurm_port(variables);
  read_master(variables, launch);
  return launch;
}

}  // namespace

namespace {

Launch launch_by_variables(const Variables& variables) {
  if (first_set(variables, {"RANK", "WORLD_SIZE"}) != nullptr) {
    Launch launch = with_names(variables, kTorchrun, "torchrun");
    avoid_agent(variables, launch);
    return launch;
  }
  if (first_set(variables, {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"}) != nullptr)
    return with_names(variables, kOpenMpi, "Open MPI");
  // Only srun sets the step's number: a batch script of its own has SLURM_PROCID too, and is alone.
  if (first_set(variables, {"SLURM_STEP_ID"}) != nullptr) return from_slurm(variables);
  Launch alone;
  read_master(variables, alone);
  return alone;
}

}  // namespace

Launch launch_from(const Environment& environment, std::optional<int> port) {
  const Variables variables{environment};
  Launch launch = launch_by_variables(variables);
  if (const char* secret = variables.text(kSecretVariable))
    launch.secret = checked_secret(secret, place_of(kSecretVariable));
  if (!port) return launch;
  launch.master_port = *port;
  launch.other_ports.clear();
  return launch;
}

}  // namespace shardsim
