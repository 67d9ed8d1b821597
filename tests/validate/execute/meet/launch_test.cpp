#include "validate/execute/meet/launch.h"

#include <doctest/doctest.h>

#include <map>

#include "tests/base/error_text.h"

namespace shardsim::launch_test {

namespace {

using Variables = std::map<std::string, std::string>;

Launch launch(const Variables& variables) {
  return launch_from([&](const char* name) {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  });
}

Variables with(Variables variables, const Variables& more) {
  for (const auto& [name, value] : more) variables[name] = value;
  return variables;
}

Variables without(Variables variables, const std::string& name) {
  variables.erase(name);
  return variables;
}

std::string error_of(const Variables& variables) {
  return shardsim::error_of([&] { launch(variables); });
}

bool names(const std::string& error, const std::string& variable) {
  return error.starts_with("environment variable " + variable + ":");
}

const Variables kTorchrun = {{"RANK", "5"},
                             {"WORLD_SIZE", "8"},
                             {"LOCAL_RANK", "1"},
                             {"LOCAL_WORLD_SIZE", "4"},
                             {"MASTER_ADDR", "gpu01"},
                             {"MASTER_PORT", "29512"}};
const Variables kOpenMpi = {{"OMPI_COMM_WORLD_RANK", "2"},
                            {"OMPI_COMM_WORLD_SIZE", "4"},
                            {"OMPI_COMM_WORLD_LOCAL_RANK", "2"},
                            {"OMPI_COMM_WORLD_LOCAL_SIZE", "4"}};
const Variables kSlurm = {{"SLURM_JOB_ID", "123456"},
                          {"SLURM_STEP_ID", "2"},
                          {"SLURM_PROCID", "9"},
                          {"SLURM_STEP_NUM_TASKS", "11"},
                          {"SLURM_LOCALID", "1"},
                          {"SLURM_NODEID", "2"},
                          {"SLURM_STEP_TASKS_PER_NODE", "4(x2),3"},
                          {"SLURM_STEP_NODELIST", "gpu[03-04,07]"}};

}  // namespace

TEST_CASE("without a launcher this process is alone") {
  CHECK(launch({}) == Launch{});
  CHECK(launch({{"RANK", ""}}) == Launch{});  // empty: as if not set
  CHECK(launch({{"MASTER_PORT", "30000"}}).master_port == 30000);
}

TEST_CASE("torchrun's variables") {
  CHECK(launch(kTorchrun) == Launch{5, 8, 1, 4, "gpu01", 29512, "torchrun"});
  CHECK(launch({{"RANK", "1"}, {"WORLD_SIZE", "2"}}) == Launch{1, 2, 1, 2, "127.0.0.1", 29400, "torchrun"});
}

TEST_CASE("torchrun's agent listens at MASTER_PORT: the ranks meet beside it") {
  const Variables agent = with(kTorchrun, {{"TORCHELASTIC_RUN_ID", "none"}, {"TORCHELASTIC_USE_AGENT_STORE", "True"}});
  CHECK(launch(agent) == Launch{5, 8, 1, 4, "gpu01", 30512, "torchrun", {31512, 32512}, "none at 29512"});
  CHECK(launch(with(agent, {{"MASTER_PORT", "64000"}})).master_port == 65000);
  CHECK(launch(with(agent, {{"MASTER_PORT", "64000"}})).other_ports == std::vector<int>{62000, 61000});
  const Launch own_store = launch(with(agent, {{"TORCHELASTIC_USE_AGENT_STORE", "False"}}));
  CHECK(own_store.master_port == 29512);  // free as a rule; the agent may have it all the same
  CHECK(own_store.other_ports == std::vector<int>{30512, 31512, 32512});
}

TEST_CASE("a port that is asked for goes before all that launchers say") {
  const auto agent = [](const char* name) -> const char* {
    const std::string_view text(name);
    if (text == "TORCHELASTIC_USE_AGENT_STORE") return "True";
    return text == "RANK" ? "0" : text == "WORLD_SIZE" ? "2" : nullptr;
  };
  CHECK(launch_from(agent, 4711).master_port == 4711);
  CHECK(launch_from(agent, 4711).other_ports.empty());
}

TEST_CASE("Open MPI's variables; MASTER_ADDR and MASTER_PORT say where rank 0 listens") {
  CHECK(launch(kOpenMpi) == Launch{2, 4, 2, 4, "127.0.0.1", 29400, "Open MPI"});
  const Variables two_nodes =
      with(kOpenMpi, {{"OMPI_COMM_WORLD_LOCAL_RANK", "0"}, {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"}});
  CHECK(names(error_of(two_nodes), "MASTER_ADDR"));
  CHECK(launch(with(two_nodes, {{"MASTER_ADDR", "a"}, {"MASTER_PORT", "1024"}})) ==
        Launch{2, 4, 0, 2, "a", 1024, "Open MPI"});
}

TEST_CASE("Slurm's variables: rank 0 is on the first node of the step, the port follows from job and step") {
  CHECK(launch(kSlurm) == Launch{9, 11, 1, 3, "gpu03", 20000 + 3458, "Slurm"});
  CHECK(launch(with(kSlurm, {{"MASTER_ADDR", "x"}, {"MASTER_PORT", "2000"}})) ==
        Launch{9, 11, 1, 3, "x", 2000, "Slurm"});
  CHECK(launch(with(kSlurm, {{"SLURM_STEP_ID", "3"}})).master_port != launch(kSlurm).master_port);
}

TEST_CASE("a step of Slurm on one node stays at the loopback address") {
  const Variables one_node =
      with(kSlurm, {{"SLURM_STEP_TASKS_PER_NODE", "11"}, {"SLURM_NODEID", "0"}, {"SLURM_STEP_NODELIST", "gpu03"}});
  CHECK(launch(one_node).master_host == "127.0.0.1");
  CHECK(launch(with(one_node, {{"MASTER_ADDR", "gpu03"}})).master_host == "gpu03");
}

TEST_CASE("the secret comes from the environment; one that could be guessed is refused by name") {
  CHECK(launch(with(kTorchrun, {{"SHARDSIM_SECRET", "c2VjcmV0IG9mIGEgdGVzdA==\n"}})).secret ==
        "c2VjcmV0IG9mIGEgdGVzdA==");
  CHECK(launch({}).secret.empty());
  CHECK(names(error_of(with(kTorchrun, {{"SHARDSIM_SECRET", "1234"}})), "SHARDSIM_SECRET"));
}

TEST_CASE("a batch script of Slurm that starts the program without srun is alone") {
  CHECK(launch(without(kSlurm, "SLURM_STEP_ID")) == Launch{});
}

TEST_CASE("torchrun's variables go before Open MPI's, and those before Slurm's") {
  CHECK(launch(with(with(kSlurm, kOpenMpi), kTorchrun)).launcher == "torchrun");
  CHECK(launch(with(kSlurm, kOpenMpi)).launcher == "Open MPI");
}

TEST_CASE("what is wrong with the variables is said with their name") {
  CHECK(names(error_of(with(kTorchrun, {{"RANK", "x"}})), "RANK"));
  CHECK(names(error_of(with(kTorchrun, {{"RANK", "-1"}})), "RANK"));
  CHECK(names(error_of(with(kTorchrun, {{"RANK", "8"}})), "RANK"));
  CHECK(names(error_of(with(kTorchrun, {{"WORLD_SIZE", "4 "}})), "WORLD_SIZE"));
  CHECK(names(error_of(with(kTorchrun, {{"WORLD_SIZE", "0"}})), "WORLD_SIZE"));
  CHECK(names(error_of(with(kTorchrun, {{"WORLD_SIZE", "99999999999"}})), "WORLD_SIZE"));
  CHECK(names(error_of(without(kTorchrun, "WORLD_SIZE")), "WORLD_SIZE"));
  CHECK(names(error_of(without(kTorchrun, "RANK")), "RANK"));
  CHECK(names(error_of(without(kTorchrun, "LOCAL_RANK")), "LOCAL_RANK"));
  CHECK(names(error_of(with(kTorchrun, {{"LOCAL_RANK", "4"}})), "LOCAL_RANK"));
  CHECK(names(error_of(with(kTorchrun, {{"LOCAL_WORLD_SIZE", "9"}})), "LOCAL_WORLD_SIZE"));
  CHECK(names(error_of(without(kTorchrun, "MASTER_ADDR")), "MASTER_ADDR"));
  CHECK(names(error_of(with(kTorchrun, {{"MASTER_PORT", "0"}})), "MASTER_PORT"));
  CHECK(names(error_of(with(kTorchrun, {{"MASTER_PORT", "65536"}})), "MASTER_PORT"));
  CHECK(names(error_of(with(kSlurm, {{"SLURM_STEP_NODELIST", "gpu[1-"}})), "SLURM_STEP_NODELIST"));
  CHECK(names(error_of(without(kSlurm, "SLURM_STEP_NODELIST")), "SLURM_STEP_NODELIST"));
  CHECK(names(error_of(with(kSlurm, {{"SLURM_NODEID", "3"}})), "SLURM_NODEID"));
}

}  // namespace shardsim::launch_test
