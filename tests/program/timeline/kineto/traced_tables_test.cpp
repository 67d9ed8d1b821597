#include "program/timeline/kineto/traced_tables.h"

#include <doctest/doctest.h>

#include <sstream>

#include "program/timeline/kineto/kineto_names.h"

namespace shardsim::traced_tables_test {
namespace {

KinetoTrace trace_of(const std::string& events) {
  std::istringstream in(R"({"traceEvents": [)" + events + "]}");
  return read_kineto_trace(in, "rank0.json");
}

// The shapes of the two calls in a trace of TorchRec (facebookresearch/HolisticTraceAnalysis, trace_diff/control).
constexpr const char* kCalls = R"(
  {"ph": "X", "cat": "cpu_op", "name": "fbgemm::split_embedding_codegen_lookup_rowwise_adagrad_function", "ts": 10, "dur": 5,
   "args": {"Input Dims": [[0], [96000], [0], [0, 0], [1], [1], [2], [], [], [2], [], [61072], [8193], [], [61072], [], [0], [], [], [], [1000], [0], [1], [1]],
            "Input type": ["float", "float"]}},
  {"ph": "X", "cat": "cpu_op", "name": "fbgemm::split_embedding_codegen_lookup_rowwise_adagrad_function", "ts": 20, "dur": 5,
   "args": {"Input Dims": [[0], [7487072], [0], [0, 0], [122], [122], [123], [], [], [123], [], [15807216], [999425], [], [], [], [0], [], [], [], [90837], [0], [122], [122]]}},
  {"ph": "X", "cat": "cpu_op", "name": "aten::binary_cross_entropy_with_logits", "ts": 30, "dur": 5,
   "args": {"Input Dims": [[1024, 1], [1024, 1], [], [], []]}},
  {"ph": "X", "cat": "cpu_op", "name": "torch::autograd::CppNode<SplitLookupFunction_rowwise_adagrad_Op>", "ts": 40, "dur": 5,
   "args": {"Input Dims": [[8192, 8720]]}},
  {"ph": "X", "cat": "cpu_op", "name": "torch::autograd::CppNode<SplitLookupFunction_rowwise_adagrad_Op>", "ts": 50, "dur": 5,
   "args": {"Input Dims": [[8192, 96]]}},
  {"ph": "X", "cat": "user_annotation", "name": "nccl:all_reduce", "ts": 60, "dur": 5, "args": {"Input Dims": [[267040]]}})";

TEST_CASE("shapes of FBGEMM's lookups tell tables, rows, columns, bags and ids") {
  const TracedShapes shapes = traced_shapes(trace_of(kCalls), 0, 100);
  CHECK(shapes.batch == 1024);
  CHECK(shapes.reduced_elements == 267040);
  CHECK(shapes.not_understood == 0);
  REQUIRE(shapes.tables.size() == 2);
  const TracedTables &one = shapes.tables[0], &many = shapes.tables[1];
  CHECK(one.tables == 1);
  CHECK(one.bags == 8192);
  CHECK(one.lookups == 61072);
  CHECK(one.rows == 1000);
  CHECK(one.columns == 96);
  CHECK(one.weighted);
  CHECK(many.tables == 122);
  CHECK(many.bags == 8192);
  CHECK(many.lookups == 15807216);
  CHECK(many.rows == 90837);
  CHECK(many.columns == 8720);
  CHECK_FALSE(many.weighted);
  CHECK(traced_shapes(trace_of(kCalls), 15, 25).tables.size() == 1);  // of the step that is asked for
}

TEST_CASE("an EmbeddingBag of several tables has as many bags of each as the batch") {
  const TracedShapes shapes =
      traced_shapes(trace_of(R"({"ph": "X", "cat": "cpu_op", "name": "aten::_embedding_bag", "ts": 1, "dur": 1,
                   "args": {"Input Dims": [[800000, 64], [20000], [8192], [], [], [], [], [], []]}},
                  {"ph": "X", "cat": "cpu_op", "name": "aten::embedding", "ts": 2, "dur": 1,
                   "args": {"Input Dims": [[1000000, 64], [1024, 100], [], [], []]}},
                  {"ph": "X", "cat": "cpu_op", "name": "aten::embedding", "ts": 2, "dur": 1, "args": {"Input Dims": [[7]]}},
                  {"ph": "X", "cat": "cpu_op", "name": "aten::binary_cross_entropy", "ts": 3, "dur": 1,
                   "args": {"Input Dims": [[1024]]}})"),
                    0, 10);
  REQUIRE(shapes.tables.size() == 2);
  CHECK(shapes.tables[0].tables == 8);
  CHECK(shapes.tables[0].bags == 1024);
  CHECK(shapes.tables[0].columns == 8 * 64);
  CHECK(shapes.tables[1].sequence);
  CHECK(shapes.tables[1].lookups == 102400);
  CHECK(shapes.not_understood == 1);
}

TEST_CASE("kernels of the dense part by kind") {
  CHECK(kernel_kind("void cutlass::Kernel2<cutlass_80_tensorop_s1688gemm_64x64_32x5_nt_align4>(Params)") == "products");
  CHECK(kernel_kind("ampere_sgemm_128x64_tn") == "products");
  CHECK(kernel_kind("nvjet_tst_128x64_64x8_1x2_h_bz_coopA_TNT") == "products");
  CHECK(kernel_kind("std::enable_if<!(false), void>::type internal::gemvx::kernel<int, int, float>(X)") == "products");
  CHECK(kernel_kind("fmha_cutlassB_f32_aligned_64x64_k32_sm80(PyTorchMemEffAttention::P)") == "attention");
  CHECK(kernel_kind("void at::native::vectorized_elementwise_kernel<4, at::native::F>(int)") == "element-wise");
  CHECK(kernel_kind("void at::native::reduce_kernel<128, 4, at::native::R>(R)") == "reductions");
  CHECK(kernel_kind("void at::native::(anonymous namespace)::CatArrayBatchedCopy<float>(float*)") == "concatenation");
  CHECK(kernel_kind("void at::native::(anonymous namespace)::multi_tensor_apply_kernel<T>(T)") == "optimizer");
  CHECK(kernel_kind("void at::native::(anonymous namespace)::indexing_backward_kernel<float>(long)") == "index");
  CHECK(kernel_kind("void cub::DeviceScanKernel<P>(P)") == "sort and scan");
  // FBGEMM's kernels, by their names in a trace of TorchRec's training.
  CHECK(kernel_kind("void fbgemm_gpu::permute_2D_lengths_kernel<int>(int, int, int const*, int const*, int*)") ==
        "permutation");
  CHECK(kernel_kind("void fbgemm_gpu::permute_2D_data_kernel<false, long, long, float>(int, int)") == "permutation");
  CHECK(kernel_kind("void fbgemm_gpu::(anonymous namespace)::_offsets_range_cuda_kernel<long>(long)") == "index");
  CHECK(kernel_kind("fbgemm_gpu::_float_to_hfp8_gpu(float const*)") == "element-wise");
  CHECK(kernel_kind("void fbgemm_gpu::jagged_dense_elementwise_add_kernel(float*)") == "element-wise");
  CHECK(kernel_kind("void cudnn::ops::convertTensor_kernel<float, float>(float)") == "element-wise");
  CHECK(kernel_kind("void implicit_convolve_sgemm<float, 128>(int)") == "products");
  CHECK(kernel_kind("my_own_thing").empty());
}

}  // namespace
}  // namespace shardsim::traced_tables_test
