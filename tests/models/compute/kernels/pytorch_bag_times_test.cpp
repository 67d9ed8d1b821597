#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "base/csv.h"
#include "base/files.h"
#include "models/compute/kernels/pytorch_times.h"

namespace shardsim::pytorch_bag_times_test {
namespace {

constexpr double kMeasuredRows = 1'000'000;

// One table of evenly popular rows, as the operators were measured.
TableWork even_table(double bags, double pooling, double columns) {
  TableWork table;
  table.rows = kMeasuredRows;
  table.columns = columns;
  table.row_bytes = 4 * columns;
  table.bags = bags;
  table.lookups = bags * pooling;
  table.reuse.lookups = table.lookups;
  table.reuse.distinct = kMeasuredRows * (1 - std::pow(1 - 1 / kMeasuredRows, table.lookups));
  table.reuse.missed.fill(table.lookups);  // L2 is empty, and rows come back seldom
  table.reuse.largest = 3;
  return table;
}

struct BagGpu {
  GpuTable table = shipped_gpu_table();
  const PytorchKernels& numbers = shipped_pytorch_kernels();
  std::string name = "H100-SXM5-80GB";

  double lookup(const TableWork& of) const {
    return bags_lookup_time({of}, numbers, *table.find(name), *table.find(numbers.gpu)).us();
  }
  double update(const TableWork& of, const std::string& optimizer = "sgd") const {
    return bags_update_time({of}, optimizer, numbers, *table.find(name), *table.find(numbers.gpu)).us();
  }
};

double number_in(const CsvTable& rows, const CsvTable::Row& row, const char* name) {
  return std::stod(row.cells[rows.column(name).value()]);
}

// {bags, pooling, columns, us of the kernel} of the rows of one operator.
std::vector<std::vector<double>> measured_bags(const std::string& gpu, const std::string& op) {
  const std::string file =
      std::string(SHARDSIM_SOURCE_DIR) + "/scenarios/measurements/pytorch/" + gpu + "/operators.csv";
  const CsvTable rows = parse_csv(read_file(file), file);
  std::vector<std::vector<double>> found;
  for (const CsvTable::Row& row : rows.rows) {
    if (row.cells[rows.column("op").value()] != op) continue;
    found.push_back({number_in(rows, row, "batch"), number_in(rows, row, "count"), number_in(rows, row, "n"),
                     number_in(rows, row, "kernel_us")});
  }
  return found;
}

TEST_CASE("EmbeddingBag and its update take what was measured, on an H200, too, on which nothing was fitted") {
  for (const auto& [gpu, name] : {std::pair{"h100", "H100-SXM5-80GB"}, std::pair{"h200", "H200-SXM5-141GB"}}) {
    BagGpu on;
    on.name = name;
    for (const auto& row : measured_bags(gpu, "embedding bag"))
      CHECK(on.lookup(even_table(row[0], row[1], row[2])) == doctest::Approx(row[3]).epsilon(0.25));
    const auto copies = measured_bags(gpu, "embedding bag backward, sparse");
    REQUIRE(copies.size() > 6);
    for (const auto& row : measured_bags(gpu, "sparse sgd of a table")) {
      const auto copy = std::ranges::find_if(
          copies, [&](const auto& each) { return std::equal(each.begin(), each.begin() + 3, row.begin()); });
      REQUIRE(copy != copies.end());
      CHECK(on.update(even_table(row[0], row[1], row[2])) == doctest::Approx(row[3] + (*copy)[3]).epsilon(0.1));
    }
  }
}

TEST_CASE("gradients of one row are added one by one, and Adagrad sums them in a far longer chain") {
  const BagGpu on;
  TableWork few = even_table(4096, 1, 128);
  const double spread = on.update(few);
  few.reuse.largest = 2277;                                                  // of a table of three rows
  CHECK(on.update(few) - spread == doctest::Approx(17.3 - 6).epsilon(0.2));  // us, in the trace of dot128
  CHECK(on.update(few, "adagrad") > 600);
  CHECK(on.update(even_table(4096, 1, 128), "adagrad") < 40);
}

TEST_CASE("a bag waits for its rows one after the other, however few bags there are") {
  const BagGpu on;
  CHECK(on.lookup(even_table(1, 100, 64)) > 30);
  CHECK(on.lookup(even_table(1, 1, 64)) < 4);
}

}  // namespace
}  // namespace shardsim::pytorch_bag_times_test
