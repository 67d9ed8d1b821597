#include "models/compute/kernels/pytorch_times.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "base/csv.h"
#include "base/files.h"

namespace shardsim {
namespace {
namespace pytorch_times_test {

double seconds_on(const char* gpu, const DenseKernel& kernel, const std::string& precision) {
  const GpuTable table = shipped_gpu_table();
  const PytorchKernels& numbers = shipped_pytorch_kernels();
  return dense_kernels_time({&kernel, 1}, precision, numbers, *table.find(gpu), *table.find(numbers.gpu)).value;
}

DenseKernel product_of(const std::string& op, double samples, double out, double in) {
  DenseKernel kernel;
  kernel.kind = DenseKernelKind::product;
  kernel.m = samples;
  kernel.n = out;
  kernel.k = in;
  if (op == "linear backward, input") {
    kernel.kind = DenseKernelKind::product_input_gradient;
    std::swap(kernel.n, kernel.k);
  } else if (op == "linear backward, weight") {
    kernel.kind = DenseKernelKind::product_weight_gradient;
    kernel.m = out;
    kernel.n = in;
    kernel.k = samples;
  }
  return kernel;
}

TEST_CASE("products on an H200, on which nothing was fitted, take what was measured there") {
  const std::string file = std::string(SHARDSIM_SOURCE_DIR) + "/scenarios/measurements/pytorch/h200/operators.csv";
  const CsvTable rows = parse_csv(read_file(file), file);
  std::vector<double> errors;
  for (const CsvTable::Row& row : rows.rows) {
    const auto cell = [&](const char* name) { return row.cells[rows.column(name).value()]; };
    const std::string op = cell("op");
    if (!op.starts_with("linear") || cell("kernel_us").empty() || cell("n") == "1") continue;
    const DenseKernel kernel = product_of(op, std::stod(cell("m")), std::stod(cell("n")), std::stod(cell("k")));
    const double predicted = seconds_on("H200-SXM5-141GB", kernel, cell("precision")) - 0.45e-6;  // the gap
    errors.push_back(std::abs(predicted / (std::stod(cell("kernel_us")) * 1e-6) - 1));
  }
  REQUIRE(errors.size() > 200);
  std::ranges::sort(errors);
  CHECK(errors[errors.size() / 2] < 0.08);
  CHECK(errors[errors.size() * 9 / 10] < 0.3);
}

TEST_CASE("attention on an H200, on which nothing was fitted, takes what was measured there") {
  const std::string file = std::string(SHARDSIM_SOURCE_DIR) + "/scenarios/measurements/pytorch/h200/operators.csv";
  const CsvTable rows = parse_csv(read_file(file), file);
  std::vector<double> errors;
  for (const CsvTable::Row& row : rows.rows) {
    const auto cell = [&](const char* name) { return row.cells[rows.column(name).value()]; };
    if (!cell("op").starts_with("attention")) continue;
    DenseKernel kernel;
    kernel.op = cell("op") == "attention" ? "attention" : "attention_backward";
    kernel.kind = DenseKernelKind::attention;
    kernel.m = std::stod(cell("m"));
    kernel.n = std::stod(cell("n"));
    kernel.k = std::stod(cell("k"));
    kernel.batch = std::stod(cell("batch"));
    kernel.elements = std::stod(cell("flop"));
    kernel.share = 1;
    const double predicted = seconds_on("H200-SXM5-141GB", kernel, cell("precision"));
    errors.push_back(std::abs(predicted / (std::stod(cell("gpu_us_median")) * 1e-6) - 1));
  }
  REQUIRE(errors.size() > 60);
  std::ranges::sort(errors);
  CHECK(errors[errors.size() / 2] < 0.07);
  CHECK(errors.back() < 0.25);
}

namespace {

// The kernels of `op` as PyTorch runs it on fp32 numbers: rows of so many columns.
std::vector<DenseKernel> norm_kernels(const std::string& op, double rows, double columns) {
  const auto of = [&](DenseKernelKind kind, double tensors) {
    return DenseKernel{.kind = kind, .m = rows, .n = columns, .bytes = tensors * 4 * rows * columns};
  };
  if (op == "layer norm") return {of(DenseKernelKind::layer_norm, 2)};
  return {of(DenseKernelKind::layer_norm_gradient, 3), of(DenseKernelKind::layer_norm_weights, 2)};
}

}  // namespace

// Few rows and many take kernels of their own for the gradients of the parameters, and 1,344 columns are the widest.
TEST_CASE("a layer norm on an H200, on which nothing was fitted, takes what was measured there") {
  const std::string file = std::string(SHARDSIM_SOURCE_DIR) + "/scenarios/measurements/pytorch/h200/operators.csv";
  const CsvTable rows = parse_csv(read_file(file), file);
  int judged = 0;
  for (const CsvTable::Row& row : rows.rows) {
    const auto cell = [&](const char* name) { return row.cells[rows.column(name).value()]; };
    if (!cell("op").starts_with("layer norm") || cell("precision") != "fp32") continue;
    double predicted = 0;
    for (const DenseKernel& kernel : norm_kernels(cell("op"), std::stod(cell("batch")), std::stod(cell("n"))))
      predicted += seconds_on("H200-SXM5-141GB", kernel, "fp32") - 0.45e-6;  // the gap
    INFO(cell("op"), " ", cell("batch"), " x ", cell("n"));
    CHECK(std::abs(predicted / (std::stod(cell("kernel_us")) * 1e-6) - 1) < 0.2);
    ++judged;
  }
  CHECK(judged == 12);
}

TEST_CASE("sums over rows on an H200, on which nothing was fitted, take what was measured there") {
  const std::string file = std::string(SHARDSIM_SOURCE_DIR) + "/scenarios/measurements/pytorch/h200/operators.csv";
  const CsvTable rows = parse_csv(read_file(file), file);
  std::vector<double> errors;
  for (const CsvTable::Row& row : rows.rows) {
    const auto cell = [&](const char* name) { return row.cells[rows.column(name).value()]; };
    if (cell("op") != "sum over rows" || cell("n") == "1") continue;
    const DenseKernel kernel{
        .kind = DenseKernelKind::rows_sum, .m = std::stod(cell("batch")), .n = std::stod(cell("n"))};
    const double predicted = seconds_on("H200-SXM5-141GB", kernel, cell("precision")) - 0.45e-6;  // the gap
    errors.push_back(std::abs(predicted / (std::stod(cell("kernel_us")) * 1e-6) - 1));
  }
  REQUIRE(errors.size() > 20);
  std::ranges::sort(errors);
  CHECK(errors[errors.size() / 2] < 0.07);
  CHECK(errors.back() < 0.25);
}

TEST_CASE("an element-wise pass takes its bytes at the rate of the memory, and less where L2 holds them") {
  DenseKernel pass;
  pass.bytes = 201'326'592;  // two tensors of 16,384 x 1,536 numbers read, one written
  CHECK(seconds_on("H100-SXM5-80GB", pass, "fp32") == doctest::Approx(69.84e-6).epsilon(0.03));  // add, operators.csv
  pass.bytes = 16'777'216;
  const double cold = seconds_on("H100-SXM5-80GB", pass, "fp32");
  pass.fresh = 1;
  CHECK(seconds_on("H100-SXM5-80GB", pass, "fp32") < 0.8 * cold);
}

TEST_CASE("rows that are not aligned to 16 bytes cost the tensor cores") {
  DenseKernel aligned;
  aligned.kind = DenseKernelKind::product;
  aligned.m = 4096;
  aligned.n = 1024;
  aligned.k = 480;
  DenseKernel odd = aligned;
  odd.k = 479;
  // 19.4 and 42.8 us on the H100, scenarios/measurements/pytorch/h100/operators.csv
  CHECK(seconds_on("H100-SXM5-80GB", odd, "tf32") > 1.7 * seconds_on("H100-SXM5-80GB", aligned, "tf32"));
  CHECK(seconds_on("H100-SXM5-80GB", odd, "fp32") < 1.1 * seconds_on("H100-SXM5-80GB", aligned, "fp32"));
}

DenseKernel weight_gradient(double out, double in, double samples) {
  return product_of("linear backward, weight", samples, out, in);
}

TEST_CASE("the gradient of few weights over the items of attention fills the GPU, and is read at the rate of memory") {
  // 31.2 and 41.7 us in the trace of seq100_tf32 with 1,024 samples, in 132 and 88 parts; 32 parts took 36 and 71.
  CHECK(seconds_on("H100-SXM5-80GB", weight_gradient(64, 64, 102'400), "tf32") < 36e-6);
  CHECK(seconds_on("H100-SXM5-80GB", weight_gradient(192, 64, 102'400), "tf32") < 63e-6);
}

TEST_CASE("one column is added up by one block, in fewer kernels than many columns are") {
  const DenseKernel sum{.kind = DenseKernelKind::rows_sum, .m = 4096, .n = 1};
  CHECK(seconds_on("H100-SXM5-80GB", sum, "fp32") * 1e6 == doctest::Approx(2.9 + 0.45).epsilon(0.1));  // operators.csv
}

}  // namespace pytorch_times_test
}  // namespace
}  // namespace shardsim
