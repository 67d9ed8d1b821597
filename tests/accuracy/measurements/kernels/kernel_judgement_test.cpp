

#include "accuracy/measurements/kernels/kernel_judgement.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/statistics.h"
#include "tests/base/error_text.h"

namespace shardsim::kernel_judgement_test {
namespace {

KernelJudgement published(const std::string& model = "gpu_kernels") {
  const std::string folder = std::string(SHARDSIM_SOURCE_DIR) + "/scenarios/measurements/kernels";
  KernelQuestion question;
  question.model = model;
  question.table = shipped_gpu_table();
  return judge_kernels(read_kernel_rows(folder), read_kernel_map(folder + ".yaml"), question, folder);
}

bool is_predicted(const JudgedKernel& row) {
  return row.out_of_model.empty() && !row.is_fitted;
}

// Sizes of the errors of rows that no constant was fitted on.
template <typename Test>
std::vector<double> errors_of(const KernelJudgement& judgement, const Test& test) {
  std::vector<double> errors;
  for (const JudgedKernel& row : judgement.rows)
    if (is_predicted(row) && test(row)) errors.push_back(std::abs(row.error_pct()));
  return errors;
}

bool is_of_sweep(const JudgedKernel& row) {
  return row.row.kind == KernelKind::lookup && row.row.source.find("PR #2365") != std::string::npos;
}

constexpr const char* kHeader =
    "id,quality,gpu,software,op,num_tables,rows_per_table,dim_elements,batch_size_samples,"
    "pooling_factor_lookups_per_sample,weight_dtype,optimizer,index_distribution,cache_state,time_us,"
    "derived_row_traffic_bytes,source\n";

std::string kernel_fault(const std::string& text) {
  return error_of([&] {
    KernelQuestion question;
    question.table = shipped_gpu_table();
    judge_kernels(kernel_rows_of(text, "k.csv"), KernelMap{}, question, "k.csv");
  });
}

}  // namespace

TEST_CASE("published forward lookups are predicted within 5 % in the median and 25 % at worst") {
  const KernelJudgement judgement = published();
  const auto errors = errors_of(judgement, [](const JudgedKernel& row) { return row.row.kind == KernelKind::lookup; });
  REQUIRE(errors.size() >= 16);
  CHECK(median(errors) < 5);
  CHECK(*std::ranges::max_element(errors) < 25);
}

TEST_CASE("the sweep of dimensions is predicted within 6 % in the median, with its first row fitted or not") {
  const KernelJudgement judgement = published();
  const auto predicted = errors_of(judgement, is_of_sweep);
  CHECK(predicted.size() == 8);
  CHECK(median(predicted) < 6);
  CHECK(*std::ranges::max_element(predicted) < 25);
  std::vector<double> all;
  for (const JudgedKernel& row : judgement.rows)
    if (row.out_of_model.empty() && is_of_sweep(row)) all.push_back(std::abs(row.error_pct()));
  CHECK(all.size() == 9);
  CHECK(median(all) < 6);
}

// The bounds of docs/accuracy.md, "Kernels against published timings".
TEST_CASE("every kind of published kernel has a median and a worst error below its bounds") {
  struct Bounds {
    std::vector<KernelKind> kinds;
    std::size_t rows;
    double median, worst;
  };
  const KernelJudgement judgement = published();
  for (const Bounds& bounds :
       {Bounds{{KernelKind::update}, 5, 4, 5}, Bounds{{KernelKind::lookup_and_update}, 4, 38, 42},
        Bounds{{KernelKind::update, KernelKind::lookup_and_update}, 9, 25, 42}, Bounds{{KernelKind::sort}, 6, 25, 250},
        Bounds{{KernelKind::product}, 3, 15, 20}}) {
    const auto errors = errors_of(judgement, [&](const JudgedKernel& row) {
      return std::ranges::find(bounds.kinds, row.row.kind) != bounds.kinds.end();
    });
    REQUIRE(errors.size() == bounds.rows);
    CHECK(median(errors) < bounds.median);
    CHECK(*std::ranges::max_element(errors) < bounds.worst);
  }
}

TEST_CASE("sorts of pairs on B200 from 2^20 up are predicted within 30 %, by a start fitted on a smaller one") {
  const KernelJudgement judgement = published();
  const auto errors = errors_of(judgement, [](const JudgedKernel& row) {
    return row.gpu == "B200-SXM-180GB" && row.row.kind == KernelKind::sort && !row.row.only_keys &&
           row.row.sizes.batch >= 0x1p20;
  });
  CHECK(errors.size() == 3);
  for (const double error : errors) CHECK(error < 30);
}

TEST_CASE("the new model is nearer to the published kernels than the roofline") {
  const auto all = [](const JudgedKernel&) { return true; };
  CHECK(median(errors_of(published(), all)) < median(errors_of(published("roofline"), all)));
}

TEST_CASE("rows that a constant was fitted on are marked and counted apart") {
  const KernelJudgement judgement = published();
  for (const char* const id : {"m001", "m007", "m011", "m023", "m028", "m055", "s001"}) {
    const auto row = std::ranges::find_if(judgement.rows, [&](const JudgedKernel& r) { return r.row.id == id; });
    REQUIRE(row != judgement.rows.end());
    CHECK_MESSAGE(row->is_fitted, id);
  }
  int fitted = 0;
  for (const JudgedKernel& row : judgement.rows) fitted += row.is_fitted ? 1 : 0;
  CHECK(judgement.fitted.rows == fitted);
  CHECK(published("roofline").fitted.rows == 0);
}

TEST_CASE("every row is judged or says why not") {
  const KernelJudgement judgement = published();
  int out = 0;
  for (const auto& [reason, rows] : judgement.out_of_model) out += rows;
  CHECK(judgement.predicted.rows + judgement.fitted.rows + out == static_cast<int>(judgement.rows.size()));
  for (const JudgedKernel& row : judgement.rows) CHECK((row.gpu.empty() != row.out_of_model.empty()));
}

TEST_CASE("tables of kernels that cannot be read say where and what to do") {
  const std::string row = ",x,tbe_fwd,1,1000,32,128,8,fp32,none,uniform,,5,,s\n";
  CHECK(has(kernel_fault(kHeader + std::string("a,A,") + row), "k.csv:2: the row names no GPU. Name it in column gpu"));
  CHECK(has(kernel_fault(kHeader + std::string("a,A,V100,x,tbe_forward,1,1,1,1,1,fp32,none,uniform,,5,,s\n")),
            "k.csv:2: unknown kind of operation \"tbe_forward\". Did you mean"));
  std::string header = kHeader;
  header.replace(header.find("time_us"), 7, "time");
  CHECK(has(kernel_fault(header), "k.csv:1: column time_us is missing. Name \"time\" as time_us"));
  header = kHeader;
  header.replace(header.find(",gpu,"), 5, ",");
  CHECK(has(kernel_fault(header), "k.csv:1: column gpu is missing"));
  CHECK(has(kernel_fault(kHeader + std::string("a,A,V100,x,tbe_fwd,1,1000,32,128,8,fp32,none,uniform,,0,,s\n")),
            "k.csv:2: time_us is"));
  CHECK(
      has(kernel_fault(kHeader + std::string("a,A,not stated") + row), "no row can be predicted: its source names no"));
  CHECK(has(kernel_fault(kHeader + std::string("a,A,RTX 5090") + row), "no constants of the GPU \"RTX 5090\""));
  CHECK(has(kernel_fault(kHeader), "no row can be predicted: the table has no rows"));
}

TEST_CASE("a product in a precision that the GPU has no rate for is out of the model, the others are judged") {
  const std::string rows = std::string(kHeader) + "a,A,V100,x,gemm,1,512,512,512,1,bf16,none,,,5,,s\n" +
                           "b,A,V100,x,gemm,1,512,512,512,1,fp16,none,,,5,,s\n" +
                           "c,A,V100,x,copy,,,,,,,,,,5,1000000,s\n";
  KernelQuestion question;
  question.table = shipped_gpu_table();
  const KernelJudgement judgement = judge_kernels(kernel_rows_of(rows, "k.csv"), KernelMap{}, question, "k.csv");
  CHECK(judgement.rows[0].out_of_model == "V100-SXM2-16GB states no rate for products in bf16");
  CHECK(is_predicted(judgement.rows[1]));
  CHECK(judgement.rows[2].predicted_us == doctest::Approx(2.5 + 1e6 / 802e3));
}

}  // namespace shardsim::kernel_judgement_test
