#include "accuracy/measurements/read/nccl_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <set>

#include "accuracy/measurements/read/gpu_names.h"
#include "base/text.h"
#include "topology/spec/gpu_models.h"

namespace shardsim {
namespace {

constexpr std::size_t kMostDevices = std::size_t{1} << 18;  // more lines about ranks are no log of nccl-tests
constexpr double kLeastUs = 1e-6, kMostUs = 1e12;

// nccl-tests has programs that no model of ours is of: --kind must not relabel them.
bool is_other_program(const std::string& name) {
  static const std::set<std::string> kOthers = {"alltoallv", "gather", "hypercube", "reduce", "scatter"};
  return kOthers.contains(name.substr(0, name.find("_perf")));
}

// Such a program by a word of the file's name; "" where it has none.
std::string other_program_within(std::string name) {
  std::ranges::replace_if(
      name, [](char c) { return c == '-' || c == '.' || c == ' '; }, '_');
  const std::vector<std::string> words = split(name, '_');
  const auto found = std::ranges::find_if(words, is_other_program);
  return found == words.end() ? "" : *found;
}

Error not_modelled(const std::string& name, const Place& place) {
  return input_error(place, fmt::format("{} of nccl-tests is not modelled", name.substr(0, name.find("_perf"))),
                     "These are: " + join(collective_kind_names()));
}

std::string base_name(const std::string& program) {
  return program.substr(program.rfind('/') + 1);
}

std::optional<Error> time_fault(double us, const Place& place) {
  if (us <= 0) return input_error(place, "the time is not above 0", "Leave out what was not measured");
  if (us >= kLeastUs && us <= kMostUs) return std::nullopt;
  return input_error(place, fmt::format("a time of {:g} us is absurd", us),
                     fmt::format("Times from {:g} to {:g} us are judged", kLeastUs, kMostUs));
}

// Size and time say the rate once more than algbw does: where the two differ, digits of a row were torn off, or rows
// of several lines came together. Both are rounded when printed.
std::optional<Error> rate_fault(const PrintedRow& row) {
  if (!row.algbw) return std::nullopt;
  constexpr double kRelative = .1, kPrinted = .01;  // GB/s
  const double rate = static_cast<double>(row.bytes) / row.time_us / 1e3;
  if (std::abs(rate - *row.algbw) <= kRelative * std::max(rate, *row.algbw) + kPrinted) return std::nullopt;
  return input_error(
      row.place,
      fmt::format("its size and time are {:.4g} GB/s, and algbw says {:g}: a part of the row may be lost", rate,
                  *row.algbw),
      kAsPrinted);
}

// Ranks of one host whose process says the same number and bus: several processes on one GPU.
std::string shared_gpu(const std::vector<RunDevice>& devices) {
  std::map<std::string, int> owner;
  for (const RunDevice& device : devices) {
    if (device.bus.empty() || !device.number) continue;
    const std::string gpu = fmt::format("{} device {} {}", device.host, *device.number, device.bus);
    const auto [first, is_new] = owner.emplace(gpu, device.rank);
    if (!is_new && first->second != device.rank)
      return fmt::format("ranks {} and {} are on one GPU ({})", first->second, device.rank, gpu);
  }
  return "";
}

std::string mixed_models(const std::vector<RunDevice>& devices) {
  std::set<std::string> names;
  for (const RunDevice& device : devices)
    if (!device.name.empty()) names.insert(device.name);
  return names.size() > 1 ? fmt::format("GPUs of several models in one group: {}", join({names.begin(), names.end()}))
                          : "";
}

// Where a sender's next rank is on another host almost always, its bytes cross more links than where ranks fill the
// hosts one after the other, as a prediction has them.
std::string hosts_in_turn(const std::vector<RunDevice>& devices) {
  std::map<int, std::string> host;
  for (const RunDevice& device : devices) host[device.rank] = device.host;
  std::set<std::string> hosts;
  int changes = 0;
  for (auto at = host.begin(); at != host.end(); ++at) {
    hosts.insert(at->second);
    const auto next = std::next(at);
    changes += next != host.end() && next->second != at->second;
  }
  if (host.empty() || changes < static_cast<int>(hosts.size())) return "";
  return "its ranks go round the hosts in turn, so that they send to other hosts";
}

// NVLS is of Hopper and later ones. A name that says nothing may be of one.
bool may_have_multicast(const std::vector<RunDevice>& devices) {
  constexpr int kHopper = 90;
  const GpuModel* const model = devices.empty() ? nullptr : known_gpu_model(devices.front().name);
  return model == nullptr || model->capability >= kHopper;
}

std::string join_filled(std::vector<std::string> texts) {
  std::erase(texts, "");
  return join(texts, ", ");
}

bool is_slice(const RunDevice& device) {
  return device.name.find(" MIG ") != std::string::npos;
}

bool has_rank_twice(const std::vector<RunDevice>& devices) {
  std::set<int> ranks;
  return std::ranges::any_of(devices, [&](const RunDevice& device) { return !ranks.insert(device.rank).second; });
}

}  // namespace

std::optional<CollectiveKind> kind_within(const std::string& name) {
  const std::string between = "_-. ";
  std::vector<std::size_t> begins = {0};
  for (std::size_t at = 0; at < name.size(); ++at)
    if (between.find(name[at]) != std::string::npos) begins.push_back(at + 1);
  std::set<CollectiveKind> found;
  for (std::size_t i = 0; i < begins.size(); ++i) {
    // The longest first: "all_reduce" before the "reduce" that it ends in, which then is not looked at.
    for (std::size_t end = begins.size(); end > i; --end) {
      const std::size_t stop = end < begins.size() ? begins[end] - 1 : name.size();
      const auto kind = find_collective_kind(name.substr(begins[i], stop - begins[i]));
      if (!kind) continue;
      found.insert(*kind);
      i = end - 1;
      break;
    }
  }
  return found.size() == 1 ? std::optional(*found.begin()) : std::nullopt;
}

NcclRuns::NcclRuns(const std::string& source, const RunHints& hints)
    : source_(source), by_name_(kind_within(std::filesystem::path(source).stem().string())), asked_(hints.kind) {
  system_ = hints.system.empty() ? std::filesystem::path(source).stem().string() : hints.system;
}

void NcclRuns::start(const NcclCommand& command, const Place& place) {
  start(command.program, place);
  method_.read_command(command);
}

void NcclRuns::start(const std::string& program, const Place& place) {
  end_rows();
  finish();
  // Without rows between, it may be another process of one run.
  earlier_devices_.insert(earlier_devices_.end(), devices_.begin(), devices_.end());
  devices_.clear();
  wrong_.clear();
  const std::string name = base_name(program);
  kind_ = find_collective_kind(name);
  unknown_program_.reset();
  if (kind_ || (asked_ && !is_other_program(name))) return;
  unknown_program_ = is_other_program(name) ? not_modelled(name, place)
                                            : input_error(place, "unknown collective " + excerpt(name),
                                                          known_names_hint(name, collective_kind_names()));
}

void NcclRuns::foreign_library(const std::string& name, const Place& place) {
  end_rows();
  if (unknown_program_) return;
  unknown_program_ = input_error(place, fmt::format("the rows are of {}, not of NCCL", name),
                                 "Only collectives of NCCL are predicted");
  lose(*unknown_program_);
}

void NcclRuns::end_rows() {
  if (rows_.empty()) return;
  finish();
  wrong_.clear();
  devices_.clear();
  earlier_devices_.clear();
  method_ = {};
}

RunMethod& NcclRuns::method() {
  end_rows();
  return method_;
}

void NcclRuns::begin_devices() {
  end_rows();
  earlier_devices_.insert(earlier_devices_.end(), devices_.begin(), devices_.end());
  devices_.clear();
}

void NcclRuns::add(RunDevice device) {
  if (devices_.size() < kMostDevices) devices_.push_back(std::move(device));
}

void NcclRuns::add(PrintedRow row) {
  if (const auto fault = time_fault(row.time_us, row.place)) return lose(*fault);
  if (const auto fault = rate_fault(row)) return lose(*fault);
  rows_.push_back(std::move(row));
}

void NcclRuns::lose(const Error& why) {
  if (!first_lost_) first_lost_ = why;
  ++lost_;
}

void NcclRuns::note(const std::string& text) {
  const std::string whole = fmt::format("{}: {}", source_, text);
  if (std::ranges::find(result_.notes, whole) == result_.notes.end()) result_.notes.push_back(whole);
}

void NcclRuns::lose_rows(const Error& why) {
  for (std::size_t i = 0; i < rows_.size(); ++i) lose(why);
  rows_.clear();
}

// --kind selects among the programs of a log and speaks for those that do not say what they are; it relabels none.
std::optional<CollectiveKind> NcclRuns::kind_of_run(const Place& place) {
  if (unknown_program_) {
    lose_rows(*unknown_program_);
    return std::nullopt;
  }
  const auto said = kind_ ? kind_ : by_name_;
  const std::string other = other_program_within(std::filesystem::path(source_).stem().string());
  if (!said && !asked_ && !other.empty()) {
    lose_rows(not_modelled(other, place));
    return std::nullopt;
  }
  if (!said && !asked_) {
    lose_rows(input_error(place, "neither the output nor the file's name says which collective this is",
                          "Add --kind, one of " + join(collective_kind_names())));
    return std::nullopt;
  }
  if (said && asked_ && said != asked_) {
    const Error why = input_error(place,
                                  fmt::format("the output, or the file's name, says {}; --kind says {}",
                                              collective_kind_name(*said), collective_kind_name(*asked_)),
                                  "Leave --kind out, or rename the file where its name is wrong");
    if (!first_lost_) first_lost_ = why;
    not_asked_ += static_cast<int>(rows_.size());
    rows_.clear();
    return std::nullopt;
  }
  return said ? said : asked_;
}

bool NcclRuns::have_never_met(const BusRatio& ratio) const {
  std::vector<RunDevice> all = earlier_devices_;
  all.insert(all.end(), devices_.begin(), devices_.end());
  return has_rank_twice(devices_) || (ratio.is_zero() && has_rank_twice(all));
}

// The sum at the end of a log counts all that the rows do, and is missing where a job was killed.
std::string NcclRuns::wrong_text() const {
  if (!wrong_.empty()) return fmt::format("nccl-tests found {} wrong values", wrong_);
  const auto is_wrong = [](const PrintedRow& row) { return row.wrong > 0; };
  const auto first = std::ranges::find_if(rows_, is_wrong);
  if (first == rows_.end()) return "";
  return fmt::format("nccl-tests found wrong values in {} of {} (first: {})", std::ranges::count_if(rows_, is_wrong),
                     counted(rows_.size(), "row"), first->place.text());
}

std::string NcclRuns::caveat() const {
  std::vector<std::string> reasons;
  const auto add = [&](const std::string& reason) {
    if (!reason.empty()) reasons.push_back(reason);
  };
  const auto foreign = std::ranges::find_if(devices_, [](const RunDevice& d) { return is_foreign_gpu(d.name); });
  if (foreign != devices_.end()) add(fmt::format("{} is not a GPU of NVIDIA", excerpt(foreign->name)));
  if (foreign == devices_.end() && !foreign_.empty()) add(foreign_ + " runs on GPUs of another vendor");
  if (std::ranges::any_of(devices_, is_slice)) add("a rank has a slice of a GPU (MIG), not a whole one");
  add(shared_gpu(devices_));
  add(mixed_models(devices_));
  add(method_.not_one_call());
  add(wrong_text());
  return join(reasons, "; ");
}

void NcclRuns::finish() {
  if (!has_ended_) note_stop();
  if (!rows_.empty()) {
    finish_run();
    settings_.go_on(next_settings_);
    next_settings_ = {};
  }
  has_ended_ = false;
  failure_.clear();
}

// Rows before a stop are as good as any, but whoever gives a log should know that it is not a whole one.
void NcclRuns::note_stop() {
  const std::string why = failure_.empty() ? "" : ": it says " + excerpt(failure_);
  if (rows_.empty()) {
    if (!why.empty()) note("a run stopped before its first row" + why);
    return;
  }
  note(fmt::format("the run whose first row is at line {} stopped behind {}, or the log was cut{}",
                   rows_.front().place.line, counted(rows_.size(), "row"), why));
}

void NcclRuns::finish_run() {
  const Place first = rows_.front().place;
  const auto kind = kind_of_run(first);
  if (!kind) return;
  BusRatio ratio;
  for (const PrintedRow& row : rows_)
    if (row.algbw && row.busbw) ratio.add(*row.algbw, *row.busbw);
  if (have_never_met(ratio)) {
    return lose_rows(input_error(first,
                                 fmt::format("a rank is listed twice{}: two processes that never met",
                                             ratio.is_zero() ? ", and busbw is 0" : ""),
                                 "Build nccl-tests with MPI=1, and start it with mpirun or srun"));
  }
  if (!ratio.fits_kind(*kind)) {
    return lose_rows(input_error(
        first, fmt::format("busbw / algbw is {:.4g}, which {} never has", ratio.middle(), collective_kind_name(*kind)),
        "Is it another collective?"));
  }
  const RankCounts counts = count_ranks(devices_, ratio, *kind, method_);
  if (!counts.conflict.empty())
    return lose_rows(input_error(first, fmt::format("{}: {}", counts.said_by, counts.conflict),
                                 "Give the whole log, of runs with as many GPUs on every node"));
  finish_rows(*kind, counts);
}

void NcclRuns::finish_rows(CollectiveKind kind, const RankCounts& counts) {
  const std::string in_turn = kind == CollectiveKind::send_recv ? hosts_in_turn(devices_) : "";
  const std::string why = join_filled({caveat(), in_turn});
  if (!why.empty()) note(fmt::format("{}; no accuracy is claimed of its {}", why, counted(rows_.size(), "row")));
  std::set<std::string> reductions;
  for (const PrintedRow& printed : rows_) {
    MeasuredRow& row = result_.rows.emplace_back();
    row.place = printed.place;
    row.system = system_;
    row.kind = kind;
    row.bytes = printed.bytes;
    row.time = Seconds{printed.time_us * 1e-6};
    row.algbw = printed.algbw;
    row.type = printed.type;
    row.reduction = printed.reduction;
    if (!printed.reduction.empty()) reductions.insert(printed.reduction);
    row.record_kind = "log_row";
    row.source = printed.place.source;
    row.nodes = counts.hosts;
    row.gpus_per_node = counts.gpus_per_host;
    row.ranks = counts.ranks;
    row.most_hosts = counts.most_hosts;
    row.least_on_host = counts.least_on_host;
    row.gpus_of_process = counts.gpus_of_process;
    row.groups_at_once = counts.groups_at_once;
    row.counted_by = counts.said_by;
    row.counts_hosts = true;
    if (!devices_.empty()) row.gpu = devices_.front().name;
    row.caveat = why;
    row.algorithm = settings_.algorithms(kind);
    row.protocol = settings_.protocols(kind);
    row.without_pxn = settings_.without_pxn();
    row.cross_nic = settings_.cross_nic();
    row.least_channels = settings_.least_channels();
    row.most_channels = settings_.most_channels();
    row.switched_off = settings_.switched_off();
  }
  if (reductions.size() > 1)
    note(fmt::format("operations {} are mixed; each row is predicted by its own",
                     join({reductions.begin(), reductions.end()})));
  const std::string followed = settings_.followed(may_have_multicast(devices_));
  if (!followed.empty())
    note(fmt::format("{} predicted with {} as the log says", counted(rows_.size(), "row"), followed));
  if (const std::string other = join_filled({settings_.not_followed(), method_.unlike()}); !other.empty())
    note(fmt::format("{} measured with {}, which no prediction follows", counted(rows_.size(), "row"), other));
  rows_.clear();
}

Measurements NcclRuns::take() {
  const std::string failure = failure_.empty() ? "" : ", and says " + excerpt(failure_);
  finish();
  if (result_.rows.empty()) {
    if (first_lost_) throw Error(*first_lost_);
    const std::string why = zero_sizes_ > 0 ? "every row is of size 0" : "the table of nccl-tests has no row";
    throw input_error({source_}, why + failure, kAsPrinted);
  }
  if (zero_sizes_ > 0) note(fmt::format("{} rows of size 0 left out", zero_sizes_));
  if (not_asked_ > 0)
    note(fmt::format("{} of other collectives left out, as --kind asks",
                     counted(static_cast<std::size_t>(not_asked_), "row")));
  if (lost_ > 0)
    note(fmt::format("{} cannot be used and {} left out, the first: {}",
                     counted(static_cast<std::size_t>(lost_), "row"), lost_ == 1 ? "is" : "are", first_lost_->what()));
  return std::move(result_);
}

}  // namespace shardsim
