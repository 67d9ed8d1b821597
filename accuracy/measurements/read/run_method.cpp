#include "accuracy/measurements/read/run_method.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>

#include "base/text.h"

namespace shardsim {
namespace {

constexpr int kMostGpusOfProcess = 1024;
constexpr int kFewIterations = 5;  // fewer let one slow call stand out

// An option of nccl-tests that changes what a time is of.
struct Option {
  std::string_view brief, whole;
  std::string_view name;     // of the value in set(); "": told as it is written
  std::string_view usual{};  // the value that changes nothing, "" where each does
};

constexpr std::array<Option, 13> kOptions = {{{"-t", "--nthreads", "nThread"},
                                              {"-g", "--ngpus", "nGpus"},
                                              {"-m", "--agg_iters", "agg iters"},
                                              {"-n", "--iters", "iters"},
                                              {"-w", "--warmup_iters", "warmup iters"},
                                              {"-z", "--blocking", "blocking"},
                                              {"-G", "--cudagraph", "graph"},
                                              {"-R", "--local_register", "", "0"},
                                              {"-y", "--stream_null", "", "0"},
                                              {"-a", "--average", "", "1"},
                                              {"-D", "--device_implementation", "", "0"},
                                              {"-x", "--cta_policy", "", "0"},
                                              {"-C", "--report_cputime", "cpu time"}}};

// The names that the header line and the JSON have for one value.
struct Value {
  std::string_view printed, json;
};

constexpr std::array<Value, 9> kValues = {{{"nThread", "nthreads"},
                                           {"nGpus", "ngpus"},
                                           {"agg iters", "aggregated_iterations"},
                                           {"iters", "iterations"},
                                           {"warmup iters", "warmup_iters"},
                                           {"blocking", "blocking_collectives"},
                                           {"graph", "graph"},
                                           {"unalign", "unalign"},
                                           {"cpu time", "cpu time"}}};

int number_in(const std::string& value) {
  if (value == "true") return 1;
  return std::max(0, whole_number<int>(value).value_or(0));
}

}  // namespace

bool RunMethod::splits(std::string_view line) {
  constexpr std::string_view kName = "NCCL_TESTS_SPLIT";
  const std::size_t at = line.find(kName);
  return at != std::string_view::npos && line.find('=', at) != std::string_view::npos;
}

void RunMethod::set(std::string_view name, const std::string& value) {
  const auto* const known =
      std::ranges::find_if(kValues, [&](const Value& one) { return one.printed == name || one.json == name; });
  if (known == kValues.end()) return;
  const std::array<int*, 9> fields = {&threads_,  &gpus_,  &aggregated_, &iterations_, &warmup_,
                                      &blocking_, &graph_, &unalign_,    &cpu_time_};
  *fields[static_cast<std::size_t>(known - kValues.begin())] = number_in(value);
}

// "nThread 1 nGpus 8 minBytes 8 ... step: 2(factor) warmup iters: 1 iters: 20 agg iters: 1 validation: 1 graph: 0".
void RunMethod::read_header(const std::vector<std::string>& words) {
  for (std::size_t i = 0; i + 1 < words.size(); ++i) {
    std::string name = words[i];
    const bool is_named = name == "nThread" || name == "nGpus" || name.ends_with(':');
    if (!is_named) continue;
    if (name.ends_with(':')) name.pop_back();
    if (name == "iters" && i > 0 && (words[i - 1] == "agg" || words[i - 1] == "warmup")) name = words[i - 1] + " iters";
    set(name, words[i + 1]);
  }
}

// One that was printed before may be of another process of the same run.
void RunMethod::read_command(const NcclCommand& command) {
  const int commands = commands_ + 1;
  const bool is_launched = is_launched_ || command.is_launched;
  *this = {};
  commands_ = commands;
  is_launched_ = is_launched;
  read_options(command.options);
}

void RunMethod::read_options(const std::vector<std::string>& words) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string name = words[i].substr(0, words[i].find('='));
    const auto* const option =
        std::ranges::find_if(kOptions, [&](const Option& one) { return one.brief == name || one.whole == name; });
    if (option == kOptions.end()) continue;
    const bool is_joined = name.size() < words[i].size();
    if (!is_joined && i + 1 == words.size()) return;
    const std::string value = is_joined ? words[i].substr(name.size() + 1) : words[++i];
    if (!option->name.empty()) {
      set(option->name, value);
    } else if (value != option->usual) {
      options_.push_back(name + (is_joined ? "=" : " ") + value);
    }
  }
}

int RunMethod::gpus_of_process() const {
  if (threads_ == 0 || gpus_ == 0 || is_split_ || threads_ > kMostGpusOfProcess / gpus_) return 0;
  return threads_ * gpus_;
}

std::string RunMethod::not_one_call() const {
  if (aggregated_ > 1) return fmt::format("agg iters: {}, so its times are of calls in one launch", aggregated_);
  if (cpu_time_ > 0) return "its times are the host's (-C 1)";
  if (blocking_ > 0) return "it was blocking, so its times hold what the host waits after each call";
  if (warmup_ == 0 && iterations_ >= 0 && iterations_ < kFewIterations)
    return fmt::format("warmup iters: 0, iters: {}, so its times hold the set-up of first calls", iterations_);
  return "";
}

std::string RunMethod::unlike() const {
  if (!not_one_call().empty()) return "";
  std::vector<std::string> parts;
  if (graph_ > 0) parts.push_back(fmt::format("graph: {}", graph_));
  if (unalign_ > 0) parts.push_back(fmt::format("unalign: {}", unalign_));
  if (warmup_ == 0) parts.emplace_back("warmup iters: 0");
  if (iterations_ >= 0 && iterations_ < kFewIterations) parts.push_back(fmt::format("iters: {}", iterations_));
  parts.insert(parts.end(), options_.begin(), options_.end());
  return join(parts);
}

}  // namespace shardsim
