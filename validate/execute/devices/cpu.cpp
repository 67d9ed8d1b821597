#include <algorithm>
#include <atomic>
#include <exception>
#include <fstream>
#include <functional>
#include <mutex>
#include <new>
#include <system_error>
#include <thread>

#include "base/error.h"
#include "base/text.h"
#include "validate/execute/devices/machine.h"
#include "validate/execute/devices/machine_facts.h"
#include "validate/execute/devices/stream_order.h"
#include "validate/execute/meet/clock.h"
#include "validate/execute/wires/wire.h"

namespace shardsim {
namespace {

std::string processor_name() {
  std::ifstream cpus("/proc/cpuinfo");
  for (std::string line; std::getline(cpus, line);) {
    const std::size_t colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos) return line.substr(colon + 2);
  }
  return "CPU";
}

std::unique_ptr<Wire> connect_wire(const std::string& name, Rendezvous& rendezvous, int channels) {
  std::vector<std::string> known;
  for (const WireEntry& entry : wires()) {
    if (entry.name == name) return entry.connect(rendezvous, channels);
    known.emplace_back(entry.name);
  }
  throw input_error({"argument --transport"}, "'" + name + "' does not carry bytes between CPU ranks",
                    known_names_hint(name, known));
}

// One rank as threads of this process, one per stream, over a Wire.
class CpuMachine : public Machine {
 public:
  CpuMachine(const IterationPrograms& programs, Rendezvous& rendezvous, const MachineOptions& options)
      : programs_(programs),
        program_(programs.first()),
        check_data_(options.check_data),
        rank_(rendezvous.rank()),
        transport_(options.transport.empty() ? "sockets" : options.transport),
        order_(program_, rank_),
        wire_(connect_wire(transport_, rendezvous, order_.streams())),
        device_(make_cpu_device(programs, rank_, *wire_, options.threads)),
        spans_(program_.streams.size()),
        sent_(program_.streams.size(), std::vector<std::int64_t>(static_cast<std::size_t>(program_.world_size), 0)),
        current_(program_.streams.size()) {
    for (std::atomic<int>& op : current_) op = -1;
  }

  void prepare() override {
    ops_ = std::make_unique<RankOps>(programs_, rank_, check_data_, *device_);
    for (const RankOps::Early& early : ops_->early()) ops_->run(program_.op(early.op), early.iteration);
  }

  void run(int first, int count, int first_kept, double start) override {
    failure_ = nullptr;
    {
      std::vector<std::jthread> threads;
      for (int stream = 0; stream < order_.streams(); ++stream) {
        if (order_.ops_of(stream).empty()) continue;
        try {
          threads.emplace_back([this, stream, first, count, first_kept, start] {
            run_stream(stream, first, first + count, first_kept, start);
          });
        } catch (const std::system_error& error) {
          failed(std::make_exception_ptr(system_failure(error)));
          break;
        } catch (const std::bad_alloc&) {
          failed(std::current_exception());
          break;
        }
      }
    }
    if (failure_) std::rethrow_exception(failure_);
  }

  std::vector<Span> take_spans() override {
    const std::lock_guard lock(spans_mutex_);
    std::vector<Span> all;
    for (std::vector<Span>& spans : spans_) {
      all.insert(all.end(), spans.begin(), spans.end());
      spans.clear();
    }
    return all;
  }

  std::vector<std::int64_t> sent() const override {
    std::vector<std::int64_t> all(static_cast<std::size_t>(program_.world_size), 0);
    for (const auto& of_stream : sent_) std::ranges::transform(all, of_stream, all.begin(), std::plus<>{});
    return all;
  }

  void stop() override {
    order_.stop();
    wire_->stop();
    device_->stop();
  }

  std::string doing() const override {
    std::vector<std::string> names;
    for (const std::atomic<int>& op : current_) {
      if (op >= 0) names.push_back(program_.ops[op].name);
    }
    return join(names);
  }

  Timeline::Measured facts() const override {
    Timeline::Measured facts;
    facts.device = processor_name();
    facts.transport = transport_;
    facts.more = facts_text(host_facts());
    return facts;
  }

  std::int64_t bytes() const override { return ops_ ? ops_->bytes() : 0; }
  RankOps& ops() override { return *ops_; }

 private:
  void run_stream(int stream, int first, int end, int first_kept, double start) {
    try {
      sleep_until(start);
      std::vector<std::int64_t> before = wire_->sent(stream);
      for (int iteration = first; iteration < end; ++iteration) {
        if (iteration == first_kept) before = wire_->sent(stream);
        for (const int op : order_.ops_of(stream)) run_op(program_.ops[op], iteration, iteration >= first_kept);
      }
      if (end > first_kept) count_sent(stream, before);
    } catch (...) {
      failed(std::current_exception());
    }
  }

  // The first reason counts; the other streams end.
  void failed(const std::exception_ptr& why) {
    {
      const std::lock_guard lock(failure_mutex_);
      if (!failure_) failure_ = why;
    }
    stop();
  }

  // A stream is a channel of the wire.
  void count_sent(int stream, const std::vector<std::int64_t>& before) {
    const std::vector<std::int64_t>& now = wire_->sent(stream);
    for (std::size_t peer = 0; peer < now.size(); ++peer) sent_[stream][peer] += now[peer] - before[peer];
  }

  void run_op(const Op& op, int iteration, bool kept) {
    order_.wait_for(op, iteration);
    current_[op.stream] = op.id;
    const double start = monotonic_seconds();
    ops_->run(op, iteration);
    const double end = monotonic_seconds();
    current_[op.stream] = -1;
    order_.ended(op.id);
    if (!kept) return;
    const std::lock_guard lock(spans_mutex_);
    spans_[op.stream].push_back({start * 1e6, end * 1e6, rank_, op.stream, op.id, iteration, 0});
  }

  IterationPrograms programs_;
  const Program& program_;  // the first; all have the same operations
  bool check_data_ = false;
  int rank_ = 0;
  std::string transport_;
  StreamOrder order_;
  std::unique_ptr<Wire> wire_;
  std::unique_ptr<DevicePort> device_;
  std::unique_ptr<RankOps> ops_;
  std::mutex spans_mutex_;  // they are taken while streams run where the run has failed and one does not end
  std::vector<std::vector<Span>> spans_;
  std::vector<std::vector<std::int64_t>> sent_;  // [stream][rank] in kept iterations
  std::vector<std::atomic<int>> current_;        // [stream] operation under way, or -1
  std::mutex failure_mutex_;
  std::exception_ptr failure_;
};

}  // namespace

std::unique_ptr<Machine> make_cpu_machine(const IterationPrograms& programs, Rendezvous& rendezvous,
                                          const MachineOptions& options) {
  return std::make_unique<CpuMachine>(programs, rendezvous, options);
}

}  // namespace shardsim
