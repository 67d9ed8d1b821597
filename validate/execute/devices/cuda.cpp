#include <cuda_runtime_api.h>

#include <atomic>
#include <functional>
#include <memory>
#include <thread>

#include "base/error.h"
#include "validate/execute/devices/cuda_dense.h"
#include "validate/execute/devices/cuda_device.h"
#include "validate/execute/devices/cuda_fusion.h"
#include "validate/execute/devices/cuda_pooled.h"
#include "validate/execute/devices/cuda_stream_queue.h"
#include "validate/execute/devices/fusion_set.h"
#include "validate/execute/devices/nccl_set.h"
#include "validate/execute/devices/nvtx_range.h"
#include "validate/execute/devices/update_settings.h"
#include "validate/execute/meet/monotonic.h"
#include "validate/execute/run/execute.h"

namespace shardsim {

std::unique_ptr<Machine> make_cuda_machine(const Program& program, Rendezvous& rendezvous,
                                           const MachineOptions& options);

namespace {

// Operations launched ahead of the GPU: far below what a stream's queue holds, so that a launch never blocks this
// thread while a peer is gone, and enough to hide the launches.
constexpr int kAhead = 64;
constexpr double kSilence = 30;  // seconds without the end of any operation before the run counts as stuck
constexpr double kPatience = 1;  // seconds that a hanging call gets before its communicator is taken away

// One rank as streams of one GPU. Launches come from the thread that calls run(); a second one watches NCCL and ends
// its kernels when the run has failed.
class CudaMachine : public Machine {
 public:
  CudaMachine(const Program& program, Rendezvous& rendezvous, const MachineOptions& options)
      : program_(program),
        rank_(rendezvous.rank()),
        device_(choose_device(rendezvous.launch())),
        queue_(program),
        actions_(program.ops.size()),
        dense_(program.streams.size()),
        pairs_(program.ops.size()) {
    if (!options.transport.empty() && options.transport != "nccl")
      throw input_error({"argument --transport"}, "'" + options.transport + "' does not carry bytes between GPUs",
                        "Leave it out, or give nccl");
    prepare(options);
    nccl_ = std::make_unique<NcclSet>(program, rendezvous);
    for (const Op& op : program.ops) {
      if (op.is_collective() && takes_part(program, op, rank_)) seats_[op.id] = nccl_->seat(op);
    }
    watch_ = std::jthread([this](const std::stop_token& ending) { watch(ending); });
    run_guarded([this] { exchange_first_ids(); });
  }

  ~CudaMachine() override {
    watch_ = std::jthread();
    nccl_->abort();  // kernels that wait for a peer end, so that memory can be freed
    cudaDeviceSynchronize();
  }

  void run(int first, int count, int first_kept, double start) override {
    cuda::check(cudaSetDevice(device_), "choosing the GPU");
    queue_.begin();
    run_guarded([&] {
      sleep_until(start);
      for (int iteration = first; iteration < first + count; ++iteration) {
        for (const Op& op : program_.ops) launch(op, iteration, iteration >= first_kept);
      }
      wait_until_under_way(0);
    });
  }

  std::vector<Span> take_spans() override { return queue_.take_spans(rank_); }

  void stop() override { stopped_ = true; }

  std::string doing() const override { return queue_.names(); }

  std::int64_t peak_bytes() const override {
    std::size_t bytes = static_cast<std::size_t>(fusions_.bytes() + pooled_.bytes());
    for (const Pair& pair : pairs_) bytes += pair.in.bytes() + pair.out.bytes();
    for (const CudaDense& dense : dense_) bytes += static_cast<std::size_t>(dense.bytes());
    return static_cast<std::int64_t>(bytes);
  }

  Timeline::Measured facts() const override { return gpu_facts(device_); }

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
  using Action = std::function<void(int iteration, cuda::Stream stream)>;
  struct Pair {
    cuda::DeviceBuffer in, out;
  };

  // Everything that takes memory; a failure says for which operation of which rank.
  void prepare(const MachineOptions& options) {
    for (const FusionBuffers& buffers : rank_buffers(program_, {}, rank_)) {
      naming(program_.ops[buffers.fusion.lookup], [&] { add_fusion(buffers, options); });
    }
    for (const PooledBuffers& buffers : rank_pooled(program_, {}, rank_)) {
      naming(program_.ops[buffers.fusion.lookup], [&] { add_pooled(buffers, options); });
    }
    for (const Op& op : program_.ops) {
      if (actions_[op.id] || !takes_part(program_, op, rank_)) continue;
      naming(op, [&] { op.is_collective() ? add_collective(op) : add_dense(op); });
    }
    cuda::check(cudaDeviceSynchronize(), "preparing");
  }

  template <typename Body>
  void naming(const Op& op, const Body& body) {
    try {
      body();
    } catch (const Error& error) {
      if (error.failure() == Failure::input) throw;
      throw run_error("rank " + std::to_string(rank_) + ", " + op.name + ": " + error.what(), "");
    }
  }

  void add_fusion(const FusionBuffers& buffers, const MachineOptions& options) {
    const Fusion& flow = buffers.fusion;
    const OptimizerSettings settings = update_settings(program_, flow.gradient, flow.apply, options.check_data);
    CudaFusion& fusion = fusions_.add(program_, buffers, rank_, settings);
    actions_[flow.lookup] = [&fusion](int iteration, cuda::Stream stream) { fusion.lookup(iteration, stream); };
    if (flow.gradient >= 0)
      actions_[flow.gradient] = [&fusion](int iteration, cuda::Stream stream) { fusion.update(iteration, stream); };
    if (flow.apply >= 0)
      actions_[flow.apply] = [&fusion](int iteration, cuda::Stream stream) { fusion.apply(iteration, stream); };
    add_exchanges(fusion);
    for (const int id : flow.reduces) {
      add_sum(id, [this, &fusion](const Op& op, std::size_t, cuda::Stream stream) {
        fusion.reduce(*nccl_, seats_.at(op.id), op, stream);
      });
    }
  }

  void add_pooled(const PooledBuffers& buffers, const MachineOptions& options) {
    const Fusion& flow = buffers.fusion;
    CudaPooled& fusion = pooled_.add(program_, buffers, rank_, part_settings(program_, flow, options.check_data));
    for (std::size_t part = 0; part < flow.parts.size(); ++part) {
      const Fusion::Part& of = flow.parts[part];
      actions_[of.lookup] = [&fusion, part](int k, cuda::Stream stream) { fusion.lookup(part, k, stream); };
      if (of.gradient >= 0)
        actions_[of.gradient] = [&fusion, part](int k, cuda::Stream stream) { fusion.update(part, k, stream); };
      if (of.apply >= 0)
        actions_[of.apply] = [&fusion, part](int k, cuda::Stream stream) { fusion.apply(part, k, stream); };
    }
    add_exchanges(fusion);
    add_pooled_sums(fusion);
  }

  template <typename DeviceFusion>
  void add_exchanges(DeviceFusion& fusion) {
    const Fusion& flow = fusion.sizes().fusion;
    const int ahead = flow.ids_came_before ? 1 : 0;
    add_exchange(flow.ids,
                 [this, &fusion, ahead](const Op& op, const ByteMatrix& matrix, int iteration, cuda::Stream stream) {
                   fusion.exchange_ids(*nccl_, seats_.at(op.id), op, matrix, iteration + ahead, stream);
                 });
    add_exchange(flow.output, [this, &fusion](const Op& op, const ByteMatrix& matrix, int, cuda::Stream stream) {
      fusion.exchange_output(*nccl_, seats_.at(op.id), op, matrix, stream);
    });
    add_exchange(flow.gradient_exchange,
                 [this, &fusion](const Op& op, const ByteMatrix& matrix, int, cuda::Stream stream) {
                   fusion.exchange_gradients(*nccl_, seats_.at(op.id), op, matrix, stream);
                 });
  }

  void add_pooled_sums(CudaPooled& fusion) {
    const Fusion& flow = fusion.sizes().fusion;
    add_sum(flow.scatter, [this, &fusion](const Op& op, std::size_t bytes, cuda::Stream stream) {
      nccl_->reduce_scatter(seats_.at(op.id), op, fusion.vectors(), bytes, stream);
    });
    add_sum(flow.gather, [this, &fusion](const Op& op, std::size_t bytes, cuda::Stream stream) {
      nccl_->all_gather(seats_.at(op.id), op, fusion.gradients(), bytes, stream);
    });
    for (std::size_t which = 0; which < flow.reduces.size(); ++which) {
      add_sum(flow.reduces[which], [this, &fusion, which](const Op& op, std::size_t, cuda::Stream stream) {
        fusion.reduce(which, *nccl_, seats_.at(op.id), op, stream);
      });
    }
  }

  // A collective that adds up, or gathers, what a fusion has: of so many bytes on this rank's set.
  template <typename Sum>
  void add_sum(int id, Sum act) {
    if (id < 0 || !takes_part_[id]) return;
    const Op& op = program_.ops[id];
    const auto bytes = static_cast<std::size_t>(collective_bytes(program_, op, rank_).in);
    actions_[id] = [&op, act, bytes](int, cuda::Stream stream) { act(op, bytes, stream); };
  }

  template <typename Exchange>
  void add_exchange(int id, Exchange act) {
    if (id < 0) return;
    const Op& op = program_.ops[id];
    actions_[id] = [&op, act, matrix = resolve_matrix(program_, op.matrix)](int iteration, cuda::Stream stream) {
      act(op, matrix, iteration, stream);
    };
  }

  // A collective that carries no rows of a fusion: bytes of its size.
  void add_collective(const Op& op) {
    const CollectiveBytes sizes = collective_bytes(program_, op, rank_);
    Pair& pair = pairs_[op.id];
    pair.in = cuda::DeviceBuffer(static_cast<std::size_t>(sizes.in), "what it sends");
    pair.out = cuda::DeviceBuffer(static_cast<std::size_t>(sizes.out), "what it receives");
    pair.in.clear();
    const ByteMatrix matrix = op.matrix.empty() ? ByteMatrix{} : resolve_matrix(program_, op.matrix);
    actions_[op.id] = [this, &op, &pair, matrix](int, cuda::Stream stream) {
      const NcclSeat& seat = seats_.at(op.id);
      if (op.op_class == OpClass::all_to_all)
        return nccl_->all_to_all(seat, op, matrix, pair.in.data(), pair.out.data(), stream);
      nccl_->collective(seat, op, pair.in.data(), pair.out.data(), stream);
    };
  }

  void add_dense(const Op& op) {
    if (op.fixed_ns > 0) {
      actions_[op.id] = [&op](int, cuda::Stream stream) { cuda::pass(op.fixed_ns, stream); };
      return;
    }
    const double flops = value_on(program_, op, op.flops, rank_);
    const double bytes = value_on(program_, op, op.hbm_bytes, rank_);
    CudaDense& dense = dense_[op.stream];
    dense.reserve(flops, bytes);
    actions_[op.id] = [&dense, flops, bytes](int, cuda::Stream stream) {
      dense.compute(flops, stream);
      dense.move(bytes, stream);
    };
  }

  // A pipeline starts filled: the ids of the first batch are there before the first iteration.
  void exchange_first_ids() {
    for (const auto& fusion : fusions_) exchange_first_ids(fusion->sizes().fusion);
    for (const auto& fusion : pooled_) exchange_first_ids(fusion->sizes().fusion);
    wait_until_under_way(0);
  }

  void exchange_first_ids(const Fusion& flow) {
    if (!flow.ids_came_before || !takes_part_[flow.ids]) return;
    const Op& op = program_.ops[flow.ids];
    queue_.open(op, 0, false);
    actions_[op.id](-1, queue_.stream(op.stream));
    queue_.close(op);
  }

  void launch(const Op& op, int iteration, bool kept) {
    if (!takes_part_[op.id]) return;
    wait_until_under_way(kAhead);
    const NvtxRange range(op.name.c_str());
    queue_.open(op, iteration, kept);
    actions_[op.id](iteration, queue_.stream(op.stream));
    queue_.close(op);
  }

  // Until at most so many operations are under way. Errors: when the run was stopped, NCCL failed, or nothing ends.
  void wait_until_under_way(int most) {
    long ended = queue_.ended();
    double deadline = monotonic_seconds() + kSilence;
    while (queue_.under_way() > most) {
      throw_if_failed();
      if (queue_.ended() > ended) {
        ended = queue_.ended();
        deadline = monotonic_seconds() + kSilence;
      }
      if (monotonic_seconds() > deadline) throw run_error("no operation has ended for 30 s", "");
      sleep_until(monotonic_seconds() + 20e-6);
    }
    throw_if_failed();
  }

  void throw_if_failed() {
    if (stopped_) throw run_error("stopped", "");
    if (nccl_failed_) throw run_error(nccl_fault_, "Run again with NCCL_DEBUG=WARN in the environment to see why");
  }

  // Errors leave with the rank and what was under way, and nothing of the run is left on the GPU.
  template <typename Body>
  void run_guarded(const Body& body) {
    try {
      body();
    } catch (const Error& error) {
      const std::string under_way = queue_.names();
      stopped_ = true;
      queue_.forget_under_way();
      nccl_->abort();
      throw run_error(
          "rank " + std::to_string(rank_) + (under_way.empty() ? "" : ", during " + under_way) + ": " + error.what(),
          "");
    }
  }

  // Ends NCCL's kernels, which wait for their peers for ever, when the run has failed or a peer has. The thread of
  // run() does so itself, once it has noted what had ended by then, unless it hangs in a call.
  void watch(const std::stop_token& ending) {
    cudaSetDevice(device_);
    while (!ending.stop_requested() && !stopped_ && !nccl_failed_) {
      const std::string fault = nccl_->fault();
      if (!fault.empty()) {
        nccl_fault_ = fault;
        nccl_failed_ = true;
      }
      sleep_until(monotonic_seconds() + 0.02);
    }
    const double deadline = monotonic_seconds() + kPatience;
    while (!ending.stop_requested() && monotonic_seconds() < deadline) sleep_until(monotonic_seconds() + 0.02);
    if (!ending.stop_requested()) nccl_->abort();
  }

  std::vector<char> parts() const {
    std::vector<char> parts;
    for (const Op& op : program_.ops) parts.push_back(takes_part(program_, op, rank_) ? 1 : 0);
    return parts;
  }

  const Program& program_;
  int rank_ = 0;
  int device_ = 0;
  std::vector<char> takes_part_ = parts();  // [op]
  CudaStreamQueue queue_;
  std::vector<Action> actions_;    // [op]
  FusionSet<CudaFusion> fusions_;  // of sequences
  FusionSet<CudaPooled> pooled_;
  std::vector<CudaDense> dense_;  // [stream]
  std::vector<Pair> pairs_;       // [op], of collectives without a fusion
  std::unique_ptr<NcclSet> nccl_;
  std::map<int, NcclSeat> seats_;  // [op]
  std::atomic<bool> stopped_ = false, nccl_failed_ = false;
  std::string nccl_fault_;  // written before nccl_failed_
  std::jthread watch_;
};

}  // namespace

std::unique_ptr<Machine> make_cuda_machine(const Program& program, Rendezvous& rendezvous,
                                           const MachineOptions& options) {
  return std::make_unique<CudaMachine>(program, rendezvous, options);
}

}  // namespace shardsim
