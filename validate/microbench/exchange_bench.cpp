#include "validate/microbench/exchange_bench.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/error.h"
#include "base/text.h"
#include "validate/microbench/microbench.h"

namespace shardsim {
namespace {

using ExchangeJson = nlohmann::ordered_json;

constexpr std::int64_t kExchangedElement = 4;  // bytes of fp32
// Connecting all ranks takes as long as some exchanges do, and what one call measures is lost when it is killed.
constexpr std::size_t kExchangesAtOnce = 64;

// The Program of one exchange in one direction.
Program exchange_program(const Launch& launch, const ExchangeSet& set, const Exchange& exchange, bool forward) {
  const int ranks = launch.world_size;
  Program program = collective_program(launch, OpClass::all_to_all, 0);
  Op all_to_all = program.ops.front();
  program.ops.clear();
  for (int rank = 0; rank < ranks; ++rank) {
    Op wait;
    wait.id = rank;
    wait.name = fmt::format("wait of rank {}", rank);
    wait.op_class = OpClass::dense;
    wait.ranks = {rank};
    if (forward) wait.fixed_ns = std::llround(1e6 * exchange.starts_ms[static_cast<std::size_t>(rank)]);
    program.ops.push_back(std::move(wait));
  }
  all_to_all.id = ranks;
  all_to_all.matrix.transposed = !forward;
  program.ops.push_back(std::move(all_to_all));
  ByteMatrix matrix{ByteMatrix::Kind::by_source, kExchangedElement * (set.batch / ranks), {}, {}, false};
  for (const double columns : exchange.columns) matrix.units.push_back(ranks * std::llround(columns));
  program.matrices = {{"vectors", std::move(matrix)}};
  return program;
}

// The microseconds of all visits: [exchange][direction][rank][visit].
using VisitTimes = std::vector<std::array<std::vector<std::vector<double>>, 2>>;

std::vector<double> median_seconds(const std::vector<std::vector<double>>& of_ranks) {
  std::vector<double> seconds;
  for (const std::vector<double>& visits : of_ranks) seconds.push_back(1e-6 * sample_statistics(visits).median);
  return seconds;
}

bool is_exchange_label(const ExchangeSeconds& label, std::size_t ranks) {
  const auto is_time = [](double seconds) { return std::isfinite(seconds) && seconds > 0; };
  return label.forward.size() == ranks && label.backward.size() == ranks &&
         std::ranges::all_of(label.forward, is_time) && std::ranges::all_of(label.backward, is_time);
}

}  // namespace

void check_exchanges(const ExchangeSet& set, int ranks) {
  if (ranks < kLeastExchangeRanks)
    throw input_error(
        {set.file}, fmt::format("its exchanges are between {} ranks, and there is only one", set.law.ranks),
        fmt::format("Start {}: torchrun, mpirun, srun, or shardsim emulate -- shardsim-microbench ...", set.law.ranks));
  if (set.law.ranks != ranks)
    throw input_error(
        {set.file}, fmt::format("its exchanges are between {} ranks, and {} were started", set.law.ranks, ranks),
        fmt::format("Start {} ranks, or draw others: shardsim cost-model sample --exchanges {}", set.law.ranks, ranks));
  if (set.batch % ranks != 0)
    throw input_error({set.file}, fmt::format("{} ranks cannot share {} samples evenly", ranks, set.batch),
                      "Give cost-model sample a --batch that is a multiple of the number of ranks");
  if (!set.provider.empty())
    throw input_error({set.file}, fmt::format("it has labels already, by {} of {}", set.provider, excerpt(set.device)),
                      "Measure the file without labels: labels of different providers or devices are never mixed");
  for (const Exchange& exchange : set.exchanges)
    for (const double columns : exchange.columns)
      if (columns != std::floor(columns) || columns > static_cast<double>(kMostExchangedColumns))
        throw input_error({set.file}, fmt::format("a rank of an exchange has {} columns", columns),
                          fmt::format("Give whole numbers up to {}", kMostExchangedColumns));
}

std::vector<Program> exchange_programs(const Launch& launch, const ExchangeSet& set,
                                       std::span<const std::size_t> exchanges) {
  std::vector<Program> programs;
  for (const std::size_t exchange : exchanges)
    for (const bool forward : {true, false})
      programs.push_back(exchange_program(launch, set, set.exchanges.at(exchange), forward));
  return programs;
}

std::vector<ExchangeSeconds> exchange_labels(const Timeline& timeline, std::size_t exchanges) {
  const auto ranks = static_cast<std::size_t>(timeline.world_size);
  VisitTimes times(exchanges);
  for (auto& directions : times) directions.fill(std::vector<std::vector<double>>(ranks));
  for (const Span& span : timeline.spans) {
    if (span.op != timeline.world_size) continue;  // the waiting before it
    const std::size_t turn = static_cast<std::size_t>(span.iteration) % (2 * exchanges);
    times[turn / 2][turn % 2][static_cast<std::size_t>(span.rank)].push_back(span.end_us - span.start_us);
  }
  std::vector<ExchangeSeconds> labels;
  for (const auto& [forward, backward] : times) labels.push_back({median_seconds(forward), median_seconds(backward)});
  return labels;
}

ExchangeRows::ExchangeRows(ExchangeSet& set, std::filesystem::path output, std::string what,
                           std::function<void(const Journal&)> opened)
    : SharedJournal(std::move(output), std::move(what), std::move(opened)), set_(set), done_(set.exchanges.size()) {
  set_.labels.assign(set_.exchanges.size(), {});
}

void ExchangeRows::take(const Journal::Line& line) {
  const ExchangeJson json = ExchangeJson::parse(line.text);
  const auto exchange = json.at("exchange").get<std::size_t>();
  ExchangeSeconds label{json.at("forward_s"), json.at("backward_s")};
  if (exchange >= done_.size() || !is_exchange_label(label, static_cast<std::size_t>(set_.law.ranks)))
    throw no_line_of(line);
  set_.labels[exchange] = std::move(label);
  set_.device = json.at("device").get<std::string>();
  done_[exchange] = true;
}

std::vector<std::string> ExchangeRows::known() const {
  std::vector<std::string> words;
  for (std::size_t i = 0; i < done_.size(); ++i)
    if (done_[i]) words.push_back(std::to_string(i));
  return words;
}

void ExchangeRows::know(const std::string& word) {
  done_.at(std::stoul(word)) = true;
}

std::vector<std::size_t> ExchangeRows::next(std::size_t most) const {
  std::vector<std::size_t> lacking;
  for (std::size_t i = 0; i < done_.size() && lacking.size() < most; ++i)
    if (!done_[i]) lacking.push_back(i);
  return lacking;
}

std::size_t ExchangeRows::done() const {
  return static_cast<std::size_t>(std::ranges::count(done_, true));
}

void ExchangeRows::add(std::span<const std::size_t> exchanges, const std::vector<ExchangeSeconds>& labels,
                       const std::string& device) {
  for (std::size_t i = 0; i < exchanges.size(); ++i) {
    done_[exchanges[i]] = true;
    if (!keeps()) continue;
    set_.device = device;
    set_.labels[exchanges[i]] = labels[i];
    keep(ExchangeJson{{"exchange", exchanges[i]},
                      {"device", device},
                      {"forward_s", labels[i].forward},
                      {"backward_s", labels[i].backward}}
             .dump());
  }
}

void measure_exchanges(Rendezvous& rendezvous, const ExecuteOptions& options, const ExchangeSet& set, int visits,
                       ExchangeRows& rows, const std::function<void(std::size_t done)>& progress) {
  rows.begin(rendezvous, options.device);
  for (std::vector<std::size_t> turn = rows.next(kExchangesAtOnce); !turn.empty(); turn = rows.next(kExchangesAtOnce)) {
    const std::vector<Program> programs = exchange_programs(rendezvous.launch(), set, turn);
    ExecuteOptions once = options;
    once.apart = true;
    once.warmup = static_cast<int>(programs.size());
    once.iterations = visits * static_cast<int>(programs.size());
    const Timeline timeline = execute(IterationPrograms(programs), rendezvous, once, [](const Timeline&) {});
    const bool root = rendezvous.rank() == 0;
    rows.add(turn, root ? exchange_labels(timeline, turn.size()) : std::vector<ExchangeSeconds>{},
             timeline.measured.device + ", " + timeline.measured.transport);
    progress(rows.done());
  }
}

}  // namespace shardsim
