#include <fmt/format.h>

#include "cli/command.h"

namespace shardsim {

int run_command(const std::vector<std::string>&, const Terminal&);
int check_command(const std::vector<std::string>&, const Terminal&);
int list_command(const std::vector<std::string>&, const Terminal&);
int plan_command(const std::vector<std::string>&, const Terminal&);
int explain_command(const std::vector<std::string>&, const Terminal&);
int lower_command(const std::vector<std::string>&, const Terminal&);
int cluster_command(const std::vector<std::string>&, const Terminal&);
int collective_command(const std::vector<std::string>&, const Terminal&);
int emulate_command(const std::vector<std::string>&, const Terminal&);
int validate_emulated_command(const std::vector<std::string>&, const Terminal&);
int compare_command(const std::vector<std::string>&, const Terminal&);
int convert_command(const std::vector<std::string>&, const Terminal&);

namespace {

constexpr Command kCommands[] = {
    {"run", "simulate the cases of a scenario and lay published numbers beside them",
     "shardsim run SCENARIO [options]\n"
     "  -o, --output DIR         where result files go (default: out/NAME)\n"
     "      --trace CASE|all     also write Kineto traces, one per rank\n"
     "      --trace-whole-us     round trace times to whole microseconds\n"
     "      --json               print result.json instead of the table\n"
     "      --set PATH=VALUE     change one value of the scenario; may repeat\n"
     "      --seed N             instead of the scenario's seed\n"
     "      --memory-model NAME  instead of the scenario's memory model\n"
     "  -j, --jobs N             worker processes at a time (default 1)\n"
     "      --skip-unfit         leave out cases whose plan does not fit in memory, with a warning\n"
     "      --stamp              write the time of the run into timeline.h5\n"
     "  -q, --quiet  -v, --verbose\n",
     "shardsim run scenarios/toy.yaml -o out/toy\n"
     "shardsim run scenarios/toy.yaml --set cluster.nodes=4 --json\n",
     run_command},
    {"check", "say what is wrong with a scenario, cluster, workload, plan or program file; runs nothing",
     "shardsim check FILE\n",
     "shardsim check scenarios/flexshard.yaml\n"
     "shardsim check scenarios/clusters/a100_mesh_4x8.yaml\n",
     check_command},
    {"list", "list what can be named in a scenario",
     "shardsim list planners|compute-models|memory-models|collectives|networks|clusters|workloads\n",
     "shardsim list planners\n"
     "shardsim list clusters\n",
     list_command},
    {"plan", "make the plan of a case and write it in TorchRec's JSON form",
     "shardsim plan SCENARIO [options]\n"
     "      --case NAME          which case (needed when there are several)\n"
     "      --planner NAME       instead of the case's planner, with its defaults\n"
     "      --objective NAME     of planner torchrec: estimated (default) or simulated\n"
     "  -o, --output FILE        instead of standard output\n"
     "      --torchrec-only      refuse what TorchRec cannot read (row tiers, flex)\n"
     "      --force              overwrite a file of another kind\n"
     "      --set, --seed, --memory-model   as for run\n",
     "shardsim plan scenarios/toy.yaml --case flexshard_3tier\n"
     "shardsim plan scenarios/flexshard.yaml --case rm1/flexshard_3tier -o out/plan.json\n",
     plan_command},
    {"explain", "say what memory each table and rank of a plan takes, and why, as TorchRec's planner counts it",
     "shardsim explain PLAN.json|SCENARIO [options]\n"
     "      --case NAME          which case (needed when there are several)\n"
     "      --memory-model NAME  torchrec (default), or paper: bytes per rank at rest and at the peak\n"
     "      --table NAME         only the part of this table\n"
     "      --json               one JSON document instead of tables, with every rank and table on its own\n"
     "      --set, --seed        as for run\n",
     "shardsim explain scenarios/toy.yaml --case row_wise\n"
     "shardsim explain scenarios/torchrec_guide.yaml --case code --json\n",
     explain_command},
    {"lower", "write the Program of a case: the operations of one iteration",
     "shardsim lower SCENARIO --case NAME [options]\n"
     "  -o, --output FILE        instead of standard output\n"
     "      --observed-payload   sizes as observed (workload key `runtime`)\n"
     "      --force              overwrite a file of another kind\n"
     "      --set, --seed, --memory-model   as for run\n",
     "shardsim lower scenarios/toy.yaml --case row_wise\n"
     "shardsim lower scenarios/flexshard.yaml --case rm1/flexshard_3tier -o out/program.json\n",
     lower_command},
    {"compare", "lay predicted and observed timelines side by side",
     "shardsim compare PREDICTED OBSERVED [options]\n"
     "       shardsim compare PREDICTED --observed-kineto DIR [options]\n"
     "  PREDICTED, OBSERVED: timeline.h5, or the JSON form of one run (X.timeline.json)\n"
     "      --observed-kineto DIR  a folder of Kineto traces, one per rank (ours, or of PyTorch's profiler)\n"
     "      --case NAME          this case only (default: all cases of one name)\n"
     "      --tolerance P%       exit 4 when the iteration, or a class or collective of 1 % of it or more, is further "
     "off\n"
     "      --json               the comparison as one JSON document instead of tables\n"
     "  -o, --output FILE.html   also write a page with charts\n"
     "      --force              a page under another name\n",
     "shardsim compare out/toy/timeline.h5 out/toy/timeline.h5 --tolerance 10% -o out/comparison.html\n"
     "shardsim compare out/toy/timeline.h5 --observed-kineto out/toy/trace/row_wise --case row_wise\n",
     compare_command},
    {"convert", "turn the JSON form of a timeline into timeline.h5, or back",
     "shardsim convert X.timeline.json -o timeline.h5 [--force]\n"
     "       shardsim convert timeline.h5 [--case NAME] -o X.timeline.json [--force]\n"
     "  -o, --output FILE        HDF5 where it ends in .h5, else JSON; - is standard output\n"
     "      --case NAME          which case (JSON holds one)\n"
     "      --force              overwrite a file of another kind\n",
     "shardsim convert out/toy/timeline.h5 --case row_wise -o out/row_wise.timeline.json\n"
     "shardsim convert out/row_wise.timeline.json -o out/row_wise.h5\n",
     convert_command},
    {"cluster", "show a cluster, import, export or calibrate one",
     "shardsim cluster show NAME|FILE [--nodes N]\n"
     "       shardsim cluster import FILE [-o cluster.yaml] [options]\n"
     "       shardsim cluster export --simgrid NAME|FILE [--nodes N] [-o FILE] [--force]\n"
     "       shardsim cluster calibrate --cluster NAME|FILE --measurements FILE -o NEW.yaml [options]\n"
     "  FILE of import: an NCCL topology (NCCL_TOPO_DUMP_FILE) or the text of nvidia-smi topo -m\n"
     "      --gpu MODEL          the GPU model, where the file does not name it\n"
     "      --pcie GEN           the PCIe generation of the slots, instead of what the file says\n"
     "      --nic RATE           the rate of a NIC (\"200 Gbit/s\"), instead of what the file says\n"
     "  calibrate fits overheads and efficiencies to a few measured times, and says how well the others fit\n"
     "      --measurements FILE  a CSV table, or text or JSON of nccl-tests; or the CSV table of shardsim-microbench:\n"
     "                           then the compute values of gpu are fitted, to two thirds of its shapes\n"
     "      --system LABEL       which system of the file; of nccl-tests: its name (default: the file's)\n"
     "      --kind KIND          of nccl-tests, where neither the output nor the file's name says it\n"
     "      --rows N             at most so many rows of each collective are fitted (default 4)\n"
     "  -o, --output FILE        instead of standard output; calibrate: required, - is standard output\n"
     "      --force              overwrite a file of another kind\n",
     "shardsim cluster show dgx1_v100\n"
     "shardsim cluster calibrate --cluster dgx1_v100 --measurements "
     "scenarios/measurements/open/v100_hybrid_cube_mesh.csv -o out/my_v100.yaml\n",
     cluster_command},
    {"collective", "predict how long collectives take on a cluster; compare with measured times",
     "shardsim collective predict --cluster NAME|FILE --kind KIND --sizes SIZES [options]\n"
     "      --cluster NAME|FILE  as `shardsim list clusters` names it, or a file\n"
     "      --nodes N            instead of the file's\n"
     "      --gpus-per-node M    only the first M GPUs of each node (default: all)\n"
     "      --kind KIND          all_to_all, all_to_all_v, all_reduce, reduce_scatter, all_gather, broadcast or\n"
     "                           send_recv; the spellings of nccl-tests are understood too\n"
     "      --group GROUP        world (default); node: the GPUs of each node; cross_node: a GPU of each node, all\n"
     "                           such groups at once; or ranks: 0,1,8-11, groups at once with / between\n"
     "      --sizes SIZES        START:END:xFACTOR, START:END:+STEP or sizes with commas between; as nccl-tests\n"
     "                           counts them: all_to_all, all_gather and reduce_scatter a rank's total\n"
     "      --matrix FILE.csv    bytes of all_to_all_v, header source,0,1,... and a line per source; with --sizes\n"
     "                           scaled so that ranks send that much on average\n"
     "      --skew NAME          of all_to_all_v: even, half_to_first, linear or zipf over the destinations\n"
     "      --loads FILE.csv     only the sums of each rank of all_to_all_v, instead of sizes\n"
     "      --fits NAME          none or open_data, instead of the cluster's `fits`\n"
     "      --json               a JSON document instead of the table of nccl-tests\n"
     "shardsim collective compare --measurements DIR|FILE [options]\n"
     "      --measurements PATH  measured times: a CSV table, text or JSON of nccl-tests, or a folder of such files\n"
     "      --clusters MAP.yaml  which cluster each measured system is (default: that of the published times)\n"
     "      --tolerance P%       exit 4 when the median error from 1 MiB up is larger\n"
     "      --system LABEL       the system that output of nccl-tests is of (default: the file's name)\n"
     "      --kind KIND          its collective, where neither the output nor the file's name says it\n"
     "      --fits NAME          none or open_data, instead of what each cluster says; a system that the fit saw is\n"
     "                           always judged by a fit without it\n"
     "      -o DIR               folder of report.html, comparison.json, predictions.csv (default:\n"
     "                           out/collective_compare)\n"
     "      --calibrated         calibrate each system on at most 4 rows of each collective, judge the others\n"
     "      --json               the comparison as one JSON document instead of tables\n",
     "shardsim collective predict --cluster dgx_a100_80gb --nodes 2 --kind all_reduce --sizes 1KiB:1GiB:x4\n"
     "shardsim collective compare --measurements scenarios/measurements/open -o out/collective_compare\n",
     collective_command},
    {"emulate", "run a command once per rank on an emulated cluster of shaped network name spaces",
     "shardsim emulate [options] -- COMMAND [ARGUMENT...]\n"
     "      --nodes N            nodes (default 2)\n"
     "      --gpus-per-node M    ranks on each node (default 4)\n"
     "      --fast RATE          shaper of a rank inside its node (default 240Mbit)\n"
     "      --nic RATE           shaper of a rank's NIC (default 20Mbit)\n"
     "      --straggler RANK     the NIC of this rank at half rate\n"
     "  RANK, WORLD_SIZE, LOCAL_RANK, LOCAL_WORLD_SIZE, MASTER_ADDR and MASTER_PORT are set as torchrun does; rank r\n"
     "  has the address 10.2.0.(r+1). Needs Linux with iproute2, and root or user name spaces. Nothing is left when "
     "it\n"
     "  ends. Exit code: that of the first rank that failed, 128 + N when signal N ended it; 1 when the cluster "
     "cannot\n"
     "  be built. Fast rates that add up to more than 2 Gbit/s need idle cores.\n",
     "shardsim emulate --nodes 2 --gpus-per-node 4 -- sh -c 'echo rank $RANK of $WORLD_SIZE'\n"
     "shardsim emulate --nodes 2 --gpus-per-node 2 --nic 10Mbit --straggler 1 -- ip -brief address\n",
     emulate_command},
    {"validate-emulated", "lay predicted and observed times of collectives on an emulated cluster side by side",
     "shardsim validate-emulated [SCENARIO] [options]\n"
     "      --warmup N           of a scenario: iterations that are not kept (default 2)\n"
     "      --iterations N       of a scenario: iterations that are (default 10)\n"
     "      --compute-of-scenario  predict compute by the scenario's model, not by timing kernels here first\n"
     "      --set, --seed, --memory-model   of a scenario, as for run\n"
     "      --json               one JSON document instead of the table\n"
     "  Without a scenario: builds 8 ranks on 2 nodes as `shardsim emulate` does, checks point to point that the\n"
     "  links carry what their shapers say, runs a campaign of collectives, once more with a NIC at half rate,\n"
     "  simulates the same Programs on the cluster emulated_2x4, and compares (docs/emulated.md). Nothing is fitted.\n"
     "  About 25 s. With one: whole iterations of every case, on the cluster that it names.\n"
     "  Exit code 4: outside a tolerance; 77: it cannot be judged here, with the reason.\n",
     "shardsim validate-emulated\n"
     "shardsim validate-emulated scenarios/emulated.yaml --iterations 5\n",
     validate_emulated_command},
};

constexpr std::string_view kExitCodes =
    "Exit codes: 0 ok, 1 the run failed, 2 usage or bad input, 3 the plan does not fit in memory,\n"
    "4 outside the tolerance, 130 Ctrl-C.\n";

std::string indented(std::string_view lines) {
  std::string text = "  ";
  for (char c : lines) {
    text += c;
    if (c == '\n') text += "  ";
  }
  return text.substr(0, text.size() - 2);
}

}  // namespace

std::span<const Command> commands() {
  return kCommands;
}

std::string command_help(const Command& command) {
  return fmt::format("shardsim {}: {}.\n\nUsage: {}\nExamples:\n{}", command.name, command.help, command.usage,
                     indented(command.examples));
}

std::string overall_help() {
  std::string text =
      "shardsim predicts the iteration time of sharded recommendation models on GPU clusters.\n\n"
      "Usage: shardsim COMMAND ... | --help | --version\n\nCommands:\n";
  for (const Command& command : commands()) text += fmt::format("  {:<17} {}\n", command.name, command.help);
  text += fmt::format("\n`shardsim COMMAND --help` says more. {}\nExamples:\n{}", kExitCodes,
                      indented("shardsim run scenarios/flexshard.yaml\nshardsim list planners\n"));
  return text;
}

}  // namespace shardsim
