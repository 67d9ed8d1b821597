#include <doctest/doctest.h>

#include <sstream>
#include <string>
#include <vector>

#include "validate/microbench/microbench.h"

namespace shardsim::measured_files_test {
namespace {

// A set whose limits did not move: a product and a lookup.
MeasuredSet steady_set(bool library_products) {
  MeasuredSet set;
  set.device.name = "GPU";
  set.device.library_products = library_products;
  set.before = set.after = {1e12, 2e12, 3};
  MeasuredPoint product, lookup;
  product.point.op = BenchOp::gemm;
  product.point.m = product.point.n = product.point.k = 64;
  lookup.point.tables = {{100, 8, 3}};
  lookup.point.batch = 4;
  for (MeasuredPoint* const point : {&product, &lookup}) {
    point->samples_us = {10};
    point->statistics = sample_statistics(point->samples_us);
    point->calls = 1;
    set.points.push_back(*point);
  }
  return set;
}

// The quality of the row of an operation.
std::string quality(const std::string& csv, const std::string& op) {
  std::istringstream lines(csv);
  for (std::string line; std::getline(lines, line);)
    if (line.find("," + op + ",") != std::string::npos) return line.substr(line.find(',') + 1, 1);
  return "";
}

}  // namespace

TEST_CASE("a product by the kernel that stands in for cuBLASLt is of no quality that a fit uses") {
  const std::string stood_in = measured_csv(steady_set(false)), library = measured_csv(steady_set(true));
  CHECK(quality(stood_in, "gemm") == "C");
  CHECK(stood_in.find("stands in for cuBLASLt") != std::string::npos);
  CHECK(quality(stood_in, "tbe_fwd") == "A");
  CHECK(quality(library, "gemm") == "A");
  CHECK(library.find("stands in") == std::string::npos);
}

TEST_CASE("a set whose limits moved has no row for a fit") {
  MeasuredSet set = steady_set(true);
  set.after.copy_bandwidth *= 1.2;
  for (const char* const op : {"gemm", "tbe_fwd", "copy"}) CHECK(quality(measured_csv(set), op) == "C");
}

}  // namespace shardsim::measured_files_test
