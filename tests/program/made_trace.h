#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <sstream>
#include <string>

#include "program/timeline/kineto/traced_step.h"

namespace shardsim::testing {

// A trace of training steps as PyTorch's profiler writes it, in which something may be missing. Each step runs a copy,
// a lookup, four products forward, a loss, eight products backward and an update, and waits for the GPU.
struct MadeTrace {
  int steps = 4;
  bool lookups = true;  // and updates
  bool sorts = false;   // each update sorts ids first, and vectors are permuted on their way to and from the dense part
  bool operators = true;                                       // of the host
  std::string node = "autograd::engine::evaluate_function: ";  // how those of the backward pass begin
  int lost_kernels = 0;                                        // 1 of so many; their launches are there; 0: none
  int whole_steps = 0;                                         // the first so many have lost none
  int left_out = 0;                                            // 1 of so many, with their launches; 0: none
  bool twice = false;                                          // every event is
  bool durations = true;                                       // of kernels; copies have theirs
  int jump_in = -1;                                            // the step in which the clock jumps by 5 s
  bool shapes = true;                                          // of the loss
  std::string loss = "aten::binary_cross_entropy_with_logits";
  std::string device = "NVIDIA H100 80GB HBM3";
  std::int64_t memory = 85'000'000'000;
  int world = 1;
  std::string lookup_dims = "[[0],[6400000],[0],[0,0],[1],[1],[9],[],[],[9],[],[16384],[8193]]";

  std::string json() const { return Writer(*this).json(); }
  TracedModel read() const {
    std::istringstream in(json());
    return traced_model(read_kineto_trace(in, "rank0.json"));
  }

 private:
  class Writer {
   public:
    explicit Writer(const MadeTrace& of) : of_(of) {}

    std::string json() {
      for (step_ = 0; step_ < of_.steps; ++step_) step(step_);
      if (of_.twice) events_ += events_;
      std::string distributed;
      if (of_.world > 1)
        distributed =
            fmt::format(R"("distributedInfo": {{"backend": "nccl", "rank": 0, "world_size": {}}},)", of_.world);
      return fmt::format(
                 R"({{"deviceProperties": [{{"id": 0, "name": "{}", "totalGlobalMem": {}}}],{} "traceEvents": [)",
                 of_.device, of_.memory, distributed) +
             events_.substr(1) + "]}";
    }

   private:
    static constexpr int kHost = 10, kBackward = 11;

    void step(int number) {
      const double start = host_;
      copy();
      if (of_.lookups)
        work(kHost, "fbgemm::split_embedding_codegen_lookup_rowwise_adagrad_function",
             "void split_embedding_codegen_forward_unweighted_kernel<float>(x)", of_.lookup_dims);
      if (of_.sorts) work(kHost, "fbgemm::permute_multi_embedding", "void permute_multi_embs_kernel<float>(x)", "");
      for (int i = 0; i < 4; ++i) work(kHost, "aten::addmm", "sm90_xmma_gemm_f32_tn", "");
      if (number == of_.jump_in) host_ += 5e6;
      work(kHost, of_.loss, "void at::native::reduce_kernel<512, 1>(x)", "[[1024,1],[1024,1],[],[],[]]");
      for (int i = 0; i < 8; ++i) work(kBackward, of_.node + "AddmmBackward0", "sm90_xmma_gemm_f32_nn", "");
      if (of_.sorts) {
        work(kBackward, of_.node + "CppNode<PermuteMultiEmbeddingOp>", "void permute_multi_embs_kernel<float>(x)", "");
        work(kBackward, "fbgemm::recat_embedding_grad_output_mixed_D_batch", "void recat_copy_async_kernel<float>(x)",
             "");
        work(kBackward, of_.node + "CppNode<SplitLookupFunction_rowwise_adagrad_Op>",
             "void cub::DeviceRadixSortOnesweepKernel<long>(x)", "");
      }
      if (of_.lookups)
        work(kBackward, of_.node + "CppNode<SplitLookupFunction_rowwise_adagrad_Op>",
             "void split_embedding_backward_codegen_rowwise_adagrad_unweighted_kernel<float>(x)", "");
      host_ = std::max(host_, gpu_) + 10;
      event("user_annotation", fmt::format("ProfilerStep#{}", number + 3), kHost, start, host_ - start - 0.5, "");
    }

    void copy() {
      launch("cudaMemcpyAsync", kHost);
      gpu("gpu_memcpy", "Memcpy HtoD (Pinned -> Device)", true);
    }

    void work(int thread, const std::string& name, const char* kernel, const std::string& dims) {
      const std::string dims_shown = of_.shapes && !dims.empty() ? fmt::format(R"("Input Dims": {})", dims) : "";
      if (of_.operators) event("cpu_op", name, thread, host_, 19, dims_shown);
      if (of_.left_out == 0 || ++works_ % of_.left_out != 0) {
        launch("cudaLaunchKernel", thread);
        const bool lost = of_.lost_kernels > 0 && step_ >= of_.whole_steps && correlation_ % of_.lost_kernels == 0;
        gpu("kernel", kernel, of_.durations, lost);
      }
      host_ += 20;
    }

    void launch(const char* call, int thread) {
      ++correlation_;
      event("cuda_runtime", call, thread, host_ + 5, 5, fmt::format(R"("correlation": {})", correlation_));
    }

    void gpu(const char* category, const std::string& name, bool has_duration, bool lost = false) {
      constexpr double kLength = 100;
      const double start = std::max(host_ + 12, gpu_);
      gpu_ = start + kLength;
      if (lost) return;
      event(category, name, 7, start, has_duration ? kLength : -1,
            fmt::format(R"("stream": 7, "correlation": {})", correlation_));
    }

    // One without a duration where that is below 0.
    void event(const char* category, const std::string& name, int thread, double start, double length,
               const std::string& arguments) {
      const bool on_gpu = thread == 7;
      const std::string duration = length < 0 ? "" : fmt::format(R"("dur": {:.1f}, )", length);
      events_ += fmt::format(
          R"(,{{"ph": "X", "cat": "{}", "name": "{}", "pid": {}, "tid": {}, "ts": {:.1f}, {}"args": {{{}}}}})",
          category, name, on_gpu ? 0 : 42, thread, start, duration, arguments);
    }

    const MadeTrace& of_;
    std::string events_;
    double host_ = 1000, gpu_ = 0;
    int correlation_ = 0, step_ = 0, works_ = 0;
  };
};

}  // namespace shardsim::testing
