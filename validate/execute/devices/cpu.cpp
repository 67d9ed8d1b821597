#include <algorithm>
#include <atomic>
#include <exception>
#include <fstream>
#include <thread>

#include "base/error.h"
#include "base/text.h"
#include "validate/execute/devices/machine.h"
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
  CpuMachine(const Program& program, Rendezvous& rendezvous, const MachineOptions& options)
      : program_(program),
        rank_(rendezvous.rank()),
        transport_(options.transport.empty() ? "sockets" : options.transport),
        order_(program, rank_),
        wire_(connect_wire(transport_, rendezvous, order_.streams())),
        device_(make_cpu_device(program, rank_, *wire_, options.threads)),
        ops_(program, rank_, options.check_data, *device_),
        spans_(program.streams.size()),
        current_(program.streams.size()) {
    for (std::atomic<int>& op : current_) op = -1;
    for (const int op : ops_.first_ids()) ops_.run(program.ops[op], -1);
  }

  void run(int first, int count, int first_kept, double start) override {
    failure_ = nullptr;
    std::vector<std::thread> threads;
    for (int stream = 0; stream < order_.streams(); ++stream) {
      if (order_.ops_of(stream).empty()) continue;
      threads.emplace_back([this, stream, first, count, first_kept, start] {
        run_stream(stream, first, first + count, first_kept, start);
      });
    }
    for (std::thread& thread : threads) thread.join();
    if (failure_) std::rethrow_exception(failure_);
  }

  std::vector<Span> take_spans() override {
    std::vector<Span> all;
    for (std::vector<Span>& spans : spans_) {
      all.insert(all.end(), spans.begin(), spans.end());
      spans.clear();
    }
    return all;
  }

  void stop() override {
    order_.stop();
    wire_->stop();
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
    return facts;
  }

  RankOps& ops() override { return ops_; }

 private:
  void run_stream(int stream, int first, int end, int first_kept, double start) {
    try {
      sleep_until(start);
      for (int iteration = first; iteration < end; ++iteration) {
        for (const int op : order_.ops_of(stream)) run_op(program_.ops[op], iteration, iteration >= first_kept);
      }
    } catch (...) {
      {
        const std::lock_guard lock(failure_mutex_);
        if (!failure_) failure_ = std::current_exception();
      }
      stop();
    }
  }

  void run_op(const Op& op, int iteration, bool kept) {
    order_.wait_for(op, iteration);
    current_[op.stream] = op.id;
    const double start = monotonic_seconds();
    ops_.run(op, iteration);
    const double end = monotonic_seconds();
    current_[op.stream] = -1;
    order_.ended(op.id);
    if (kept) spans_[op.stream].push_back({start * 1e6, end * 1e6, rank_, op.stream, op.id, iteration, 0});
  }

  const Program& program_;
  int rank_ = 0;
  std::string transport_;
  StreamOrder order_;
  std::unique_ptr<Wire> wire_;
  std::unique_ptr<DevicePort> device_;
  RankOps ops_;
  std::vector<std::vector<Span>> spans_;
  std::vector<std::atomic<int>> current_;  // [stream] operation under way, or -1
  std::mutex failure_mutex_;
  std::exception_ptr failure_;
};

}  // namespace

std::unique_ptr<Machine> make_cpu_machine(const Program& program, Rendezvous& rendezvous,
                                          const MachineOptions& options) {
  return std::make_unique<CpuMachine>(program, rendezvous, options);
}

}  // namespace shardsim
