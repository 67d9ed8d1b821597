#include <algorithm>
#include <atomic>
#include <deque>
#include <exception>
#include <fstream>
#include <thread>

#include "base/error.h"
#include "base/text.h"
#include "validate/execute/devices/cpu_dense.h"
#include "validate/execute/devices/cpu_fusion.h"
#include "validate/execute/devices/cpu_pooled.h"
#include "validate/execute/devices/fusion_set.h"
#include "validate/execute/devices/plain_collective.h"
#include "validate/execute/devices/stream_order.h"
#include "validate/execute/devices/update_settings.h"
#include "validate/execute/meet/monotonic.h"
#include "validate/execute/run/execute.h"

namespace shardsim {

std::unique_ptr<Machine> make_cpu_machine(const Program& program, Rendezvous& rendezvous,
                                          const MachineOptions& options);

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
        actions_(program.ops.size()),
        dense_(program.streams.size(), CpuDense(options.threads)),
        scratch_(program.streams.size()),
        spans_(program.streams.size()),
        current_(program.streams.size()) {
    for (std::atomic<int>& op : current_) op = -1;
    wire_ = connect_wire(transport_, rendezvous, order_.streams());
    for (const FusionBuffers& buffers : rank_buffers(program, {}, rank_)) add_fusion(buffers, options);
    for (const PooledBuffers& buffers : rank_pooled(program, {}, rank_)) add_pooled(buffers, options);
    for (const Op& op : program.ops) {
      if (!actions_[op.id]) actions_[op.id] = op.is_collective() ? collective(op) : compute(op);
    }
    exchange_first_ids();
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

  std::int64_t peak_bytes() const override {
    std::int64_t bytes = fusions_.bytes() + pooled_.bytes();
    for (const PlainCollective& plain : plain_) bytes += plain.bytes();
    return bytes;
  }

  Timeline::Measured facts() const override {
    Timeline::Measured facts;
    facts.device = processor_name();
    facts.transport = transport_;
    return facts;
  }

  std::vector<float> gathered(int lookup_op) override {
    return with_fusion(fusions_, pooled_, lookup_op, [](const auto& fusion) { return fusion.gathered(); });
  }
  std::vector<float> shard_rows(int shard) override {
    const std::vector<float> rows = fusions_.shard_rows(shard);
    return rows.empty() ? pooled_.shard_rows(shard) : rows;
  }
  void load_rows(int shard, const std::vector<float>& rows) override {
    fusions_.load_rows(shard, rows);
    pooled_.load_rows(shard, rows);
  }
  void load_gradients(int lookup_op, const std::vector<float>& gradients) override {
    with_fusion(fusions_, pooled_, lookup_op, [&](auto& fusion) { fusion.load_gradients(gradients); });
  }

 private:
  using Action = std::function<void(int iteration)>;

  GroupSeat group_seat(const Op& op) const {
    Seat seat = seat_of(program_, op, rank_);
    return {std::move(seat.ranks), seat.position, program_.ranks_per_node, op.stream};
  }

  bool mine(const Op& op) const { return takes_part(program_, op, rank_); }

  void add_fusion(const FusionBuffers& buffers, const MachineOptions& options) {
    const Fusion& flow = buffers.fusion;
    const OptimizerSettings settings = update_settings(program_, flow.gradient, flow.apply, options.check_data);
    CpuFusion& fusion = fusions_.add(program_, buffers, rank_, settings, options.threads);
    actions_[flow.lookup] = [&fusion](int iteration) { fusion.lookup(iteration); };
    if (flow.gradient >= 0) actions_[flow.gradient] = [&fusion](int iteration) { fusion.update(iteration); };
    if (flow.apply >= 0) actions_[flow.apply] = [&fusion](int iteration) { fusion.apply(iteration); };
    add_exchanges(fusion);
    for (const int id : flow.reduces) {
      sum(id, [&fusion](Wire& wire, const GroupSeat& seat, std::int64_t, std::vector<float>& scratch) {
        fusion.reduce(wire, seat, scratch);
      });
    }
  }

  void add_pooled(const PooledBuffers& buffers, const MachineOptions& options) {
    const Fusion& flow = buffers.fusion;
    CpuPooled& fusion =
        pooled_.add(program_, buffers, rank_, part_settings(program_, flow, options.check_data), options.threads);
    for (std::size_t part = 0; part < flow.parts.size(); ++part) {
      const Fusion::Part& of = flow.parts[part];
      actions_[of.lookup] = [&fusion, part](int iteration) { fusion.lookup(part, iteration); };
      if (of.gradient >= 0) actions_[of.gradient] = [&fusion, part](int k) { fusion.update(part, k); };
      if (of.apply >= 0) actions_[of.apply] = [&fusion, part](int k) { fusion.apply(part, k); };
    }
    add_exchanges(fusion);
    add_pooled_sums(fusion);
  }

  template <typename DeviceFusion>
  void add_exchanges(DeviceFusion& fusion) {
    const Fusion& flow = fusion.sizes().fusion;
    const int ahead = flow.ids_came_before ? 1 : 0;
    exchange(flow.ids, [&fusion, ahead](Wire& wire, const GroupSeat& seat, const ByteMatrix& matrix, int iteration) {
      fusion.exchange_ids(wire, seat, matrix, iteration + ahead);
    });
    exchange(flow.output, [&fusion](Wire& wire, const GroupSeat& seat, const ByteMatrix& matrix, int) {
      fusion.exchange_output(wire, seat, matrix);
    });
    exchange(flow.gradient_exchange, [&fusion](Wire& wire, const GroupSeat& seat, const ByteMatrix& matrix, int) {
      fusion.exchange_gradients(wire, seat, matrix);
    });
  }

  void add_pooled_sums(CpuPooled& fusion) {
    const Fusion& flow = fusion.sizes().fusion;
    sum(flow.scatter, [&fusion](Wire& wire, const GroupSeat& seat, std::int64_t bytes, std::vector<float>& scratch) {
      fusion.scatter(wire, seat, bytes, scratch);
    });
    sum(flow.gather, [&fusion](Wire& wire, const GroupSeat& seat, std::int64_t bytes, std::vector<float>&) {
      fusion.gather(wire, seat, bytes);
    });
    for (std::size_t which = 0; which < flow.reduces.size(); ++which) {
      sum(flow.reduces[which],
          [&fusion, which](Wire& wire, const GroupSeat& seat, std::int64_t, std::vector<float>& scratch) {
            fusion.reduce(which, wire, seat, scratch);
          });
    }
  }

  // A collective that adds up, or gathers, what a fusion has: of `bytes` on this rank's set.
  template <typename Sum>
  void sum(int id, Sum act) {
    if (id < 0 || !mine(program_.ops[id])) return;
    const std::int64_t bytes = collective_bytes(program_, program_.ops[id], rank_).in;
    actions_[id] = [this, act, bytes, seat = group_seat(program_.ops[id])](int) {
      act(*wire_, seat, bytes, scratch_[seat.channel]);
    };
  }

  template <typename Exchange>
  void exchange(int id, Exchange act) {
    if (id < 0 || !mine(program_.ops[id])) return;
    const Op& op = program_.ops[id];
    actions_[id] = [this, act, seat = group_seat(op), matrix = resolve_matrix(program_, op.matrix)](int iteration) {
      act(*wire_, seat, matrix, iteration);
    };
  }

  // A collective that carries no rows of a fusion: bytes of its size.
  Action collective(const Op& op) {
    if (!mine(op)) return [](int) {};
    plain_.emplace_back(program_, op, rank_, group_seat(op));
    return [this, &plain = plain_.back(), stream = op.stream](int) { plain.run(*wire_, scratch_[stream]); };
  }

  Action compute(const Op& op) {
    CpuDense& dense = dense_[op.stream];
    if (op.fixed_ns > 0) return [](int) {};  // run_op() holds the stream
    const double flops = value_on(program_, op, op.flops, rank_);
    const double bytes = value_on(program_, op, op.hbm_bytes, rank_);
    return [&dense, flops, bytes](int) {
      dense.compute(flops);
      dense.move(bytes);
    };
  }

  // A pipeline starts filled: the ids of the first batch are there before the first iteration.
  void exchange_first_ids() {
    for (const auto& fusion : fusions_) exchange_first_ids(fusion->sizes().fusion);
    for (const auto& fusion : pooled_) exchange_first_ids(fusion->sizes().fusion);
  }

  void exchange_first_ids(const Fusion& flow) {
    if (flow.ids_came_before && mine(program_.ops[flow.ids])) actions_[flow.ids](-1);
  }

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
    actions_[op.id](iteration);
    // A duration that was measured elsewhere; asleep, the stream takes no core from the other ranks of this host.
    if (op.fixed_ns > 0) sleep_until(start + static_cast<double>(op.fixed_ns) * 1e-9);
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
  FusionSet<CpuFusion> fusions_;  // of sequences
  FusionSet<CpuPooled> pooled_;
  std::vector<Action> actions_;  // [op]
  std::vector<CpuDense> dense_;  // [stream]
  std::vector<std::vector<float>> scratch_;
  std::deque<PlainCollective> plain_;
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
