#include "cli/microbench/request.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "base/files.h"
#include "base/read_files.h"
#include "base/text.h"
#include "base/units.h"
#include "cli/file_kinds.h"

namespace shardsim {
namespace {

std::string ending(const std::string& path) {
  return std::filesystem::path(path).extension().string();
}

void check_output(const std::string& path, bool force, const std::vector<std::string>& known) {
  if (std::find(known.begin(), known.end(), ending(path)) == known.end())
    throw input_error(Arguments::place("output"),
                      excerpt(path) + " does not end in a kind of file that this build can write",
                      "Use one of the endings " + join(known));
  if (force || ending(path) != ".json" || !is_file(path)) return;
  // Times of shards took long to measure, so they stay even where this program wrote them.
  if (read_file(path).find("\"forward_us\"") == std::string::npos) return forget_read(path);
  throw input_error(Arguments::place("output"), excerpt(path) + " holds labels of shards or exchanges",
                    "Choose another name, or add --force to overwrite it");
}

const BenchDeviceEntry& device_named(const std::string& name) {
  std::vector<std::string> known;
  for (const BenchDeviceEntry& entry : bench_devices()) {
    if (entry.name == name) return entry;
    known.emplace_back(entry.name);
  }
  if (name == "cuda")
    throw input_error(Arguments::place("device"), "this build has no CUDA part",
                      "Build where nvcc is found, or use --device cpu");
  throw input_error(Arguments::place("device"), "unknown device " + excerpt(name), known_names_hint(name, known));
}

MicrobenchOptions options_of(const Arguments& given) {
  MicrobenchOptions options;
  options.seed = static_cast<std::uint64_t>(*given.count("seed", 1, std::int64_t{1} << 52));
  if (given.has("quick")) {
    options.warmup = 3;
    options.repetitions = 25;
    options.point_seconds = 0.6;
  }
  if (const std::string grid = given.text("grid"); !grid.empty()) {
    const bool full = grid == "full";
    options.warmup = full ? 3 : 1;
    options.repetitions = full ? 25 : 2;
    options.least_repetitions = full ? 5 : 1;
    options.point_seconds = 0.4;
    options.stream = full;
    // A profiler counts every call, and its times mean nothing.
    if (grid == "probe") options.most_spread = HUGE_VAL;
  }
  options.rounds = static_cast<int>(*given.count("rounds", 1, 100));
  options.budget_seconds = static_cast<double>(given.count("budget", 1, 86'400).value_or(0));
  const std::string drift = given.text("drift");
  options.most_drift = parse_percent(drift, Arguments::place("drift")) / 100;
  if (!(options.most_drift > 0))
    throw input_error(Arguments::place("drift"), drift + " is not above 0%", "Give for example 10%");
  return options;
}

// Options that mean something only beside one of two others.
void refuse_alone(const Arguments& given, const std::vector<std::string>& names, const std::string& one,
                  const std::string& other) {
  if (given.has(one) || given.has(other)) return;
  for (const std::string& name : names)
    if (given.has(name))
      throw input_error(Arguments::place(name),
                        fmt::format("the option has a meaning only together with --{} or --{}", one, other),
                        "Leave it out");
}

// Each of the four things that can be measured has options of its own; one that is given elsewhere is a mistake.
void refuse_idle_options(const Arguments& given) {
  given.refuse_beside("shards", {"quick", "grid", "rounds", "budget", "csv", "collectives", "drift", "exchanges"});
  given.refuse_beside("exchanges", {"quick", "grid", "rounds", "budget", "csv", "collectives", "drift", "warm", "seed",
                                    "threads", "repetitions", "warmup", "seconds", "untimed"});
  given.refuse_beside("collectives", {"warm", "grid", "rounds", "budget", "csv", "drift", "seed", "threads"});
  given.refuse_beside("untimed", {"force"});
  refuse_alone(given, {"port", "secret-file", "join-limit"}, "collectives", "exchanges");
  refuse_alone(given, {"visits"}, "shards", "exchanges");
}

ShardOptions shard_options_of(const Arguments& given) {
  ShardOptions options;
  options.visits = static_cast<int>(*given.count("visits", 1, 1000));
  if (!given.has("shards")) return options;
  options.seed = static_cast<std::uint64_t>(*given.count("seed", 1, std::int64_t{1} << 52));
  options.warmup = static_cast<int>(*given.count("warmup", 1, 1000));
  options.repetitions = static_cast<int>(*given.count("repetitions", 1, 100'000));
  options.seconds = static_cast<double>(*given.count("seconds", 1, 86'400));
  options.warm = given.has("warm");
  return options;
}

std::string device_help() {
  std::string text = "The device to measure:";
  for (const BenchDeviceEntry& device : bench_devices()) text += fmt::format(" {} ({}),", device.name, device.help);
  text.back() = '.';
  return text;
}

std::vector<Option> output_options() {
  return {
      {"device", 0, "NAME", device_help(), "", Option::Times::once},
      {"output", 'o', "FILE",
       "Write the measurements to this file, whose name ends in one of " + join(measured_endings()) +
           ". Until all are there, they are kept in FILE.journal: after an interruption the same command continues.",
       "", Option::Times::once},
      {"csv", 0, "FILE",
       "Also write the CSV table that the compute model `measured` and `shardsim cluster calibrate` read."},
      {"collectives", 0, "",
       "Measure all-reduce and all-to-all instead, over the ranks that a launcher started (torchrun, Open MPI, "
       "Slurm). -o FILE.txt then gets the layout of nccl-tests, which `shardsim collective compare` and `shardsim "
       "cluster calibrate` read."}};
}

std::vector<Option> rendezvous_options() {
  return {
      {"port", 0, "N",
       "With --collectives and --exchanges: the port on which rank 0 listens; it must be the same on every rank."},
      {"secret-file", 0, "FILE",
       "With --collectives and --exchanges: a file with the secret that all ranks share, instead of the "
       "environment variable SHARDSIM_SECRET."},
      {"join-limit", 0, "SECONDS",
       "With --collectives and --exchanges: the time that ranks wait for each other at the start, in seconds.", "120"}};
}

Option untimed_option() {
  return {"untimed", 0, "",
          "With --collectives on GPUs: make every call once, time nothing and write nothing. The program starts itself "
          "with this option first, to read from NCCL's log which algorithm, protocol and channels it chooses."};
}

Option shards_option() {
  return {"shards", 0, "FILE",
          "Measure the shards of this file instead, forward and backward; `shardsim cost-model sample` writes such "
          "files. -o FILE.json gets the shards with their times."};
}

Option visits_option() {
  return {
      "visits", 0, "N",
      "With --shards and --exchanges: the number of passes over all of them. Of a shard the shortest time is kept, of "
      "an exchange the median of each rank.",
      "3"};
}

std::vector<Option> exchange_options() {
  return {{"exchanges", 0, "FILE",
           "Measure the exchanges of this file instead, over the ranks that a launcher started; `shardsim cost-model "
           "sample --exchanges N` draws those between N ranks. -o FILE.json gets them with the times of all ranks."},
          {"cluster", 0, "NAME",
           "With --exchanges: the name of the cluster that the ranks run on, as its file has it. Over several nodes "
           "planners use what was learned for that cluster alone. Without this option the labels name rank 0's host."}};
}

std::vector<Option> shard_passes_options() {
  return {{"repetitions", 0, "N",
           "With --shards: the number of calls that are measured each time a shard's turn comes.", "4"},
          {"warmup", 0, "N", "With --shards: the number of calls before these, which are not counted.", "2"},
          {"seconds", 0, "N",
           "With --shards: stop measuring a shard after this number of seconds, even with fewer calls than asked for, "
           "and go on with the next one.",
           "3"}};
}

std::vector<Option> sweep_options() {
  return {
      {"warm", 0, "",
       "Measure with warm caches: every call finds what the one before it left there. Without this option calls use "
       "copies of their memory in turn, or the caches are flushed between them; the measurements say which."},
      {"quick", 0, "", "Measure a few dozen small points instead of the whole sweep, in one to three minutes."},
      {"grid", 0, "SIZE",
       "Measure a grid of points that describes a GPU instead of the sweep: full, small (to try the program) or "
       "probe (a few points, to be run under a profiler)."},
      {"rounds", 0, "N", "The number of passes over all points. A time is the median of the calls of all passes.", "1"},
      {"budget", 0, "SECONDS",
       "Begin no further point after this number of seconds of this call. The points that are left out are named "
       "at the end."},
      {"threads", 0, "N",
       "The number of CPU threads: at most 4 for each processor of this machine, or 64 if that is more. Without "
       "this option it is the number of processors."},
      {"seed", 0, "N", "The random seed of the indices and of the order of the sweep.", "1"},
      {"drift", 0, "P%",
       "The largest change of the machine's own limits, such as its copy rate, during the sweep. Rows of a sweep "
       "with a larger change get quality C and are not used for fits.",
       "3%"},
      {"force", 0, "",
       "Replace existing files even if something else wrote them, they were changed since this program wrote them, "
       "or they hold times of shards or exchanges."},
      {"quiet", 'q', "", "Do not print the progress."}};
}

void check_csv(const std::string& csv, bool force) {
  if (csv.empty()) return;
  if (ending(csv) != ".csv")
    throw input_error(Arguments::place("csv"), excerpt(csv) + " does not end in .csv",
                      "Choose a name that ends in .csv");
  check_output(csv, force, measured_endings());
}

}  // namespace

Request request_of(const Arguments& given) {
  given.refuse_empty({"output", "csv", "secret-file", "shards", "exchanges", "cluster", "device", "grid"});
  Request request;
  request.output = given.text("output");
  request.writer = result_writer(given);
  request.device = &device_named(given.text("device"));
  request.csv = given.text("csv");
  request.collectives = given.has("collectives");
  request.shards = given.text("shards");
  request.exchanges = given.text("exchanges");
  request.cluster = given.text("cluster");
  refuse_idle_options(given);
  request.shard_options = shard_options_of(given);
  std::vector<std::string> endings = measured_endings();
  if (request.collectives) endings = {".txt"};
  if (!request.shards.empty() || !request.exchanges.empty()) endings = {".json"};
  check_output(request.output, given.has("force"), endings);
  check_csv(request.csv, given.has("force"));
  request.threads = static_cast<int>(given.count("threads", 1, most_threads()).value_or(0));
  if (const auto port = given.count("port", 1, 65535)) request.port = static_cast<int>(*port);
  request.secret_file = given.text("secret-file");
  request.join_limit = static_cast<double>(*given.count("join-limit", 1, 86'400));
  request.quick = given.has("quick");
  request.warm = given.has("warm");
  request.untimed = given.has("untimed");
  if (request.untimed && !(request.collectives && request.device->collectives_once != nullptr))
    throw input_error(Arguments::place("untimed"), "the option has a meaning only with --collectives --device cuda",
                      "Leave it out");
  request.grid = given.text("grid");
  if (request.quick && !request.grid.empty())
    throw input_error(Arguments::place("grid"), "it has its own points, beside --quick", "Leave one of them out");
  request.quiet = given.has("quiet");
  request.options = options_of(given);
  return request;
}

std::vector<Option> microbench_options() {
  std::vector<Option> exchanges = exchange_options();
  exchanges.back().needs = "exchanges";
  return output_options() + rendezvous_options() + std::vector<Option>{untimed_option(), shards_option()} + exchanges +
         std::vector<Option>{visits_option()} + needing("shards", shard_passes_options()) + sweep_options();
}

}  // namespace shardsim
