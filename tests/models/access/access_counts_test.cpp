#include "models/access/access_counts.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <filesystem>

#include "base/files.h"
#include "base/hdf5/hdf5.h"
#include "tests/models/workload_text.h"
#include "tests/temporary_folder.h"

namespace shardsim::access_counts_test {
namespace {

void write_counts(const std::string& path, const std::vector<std::int64_t>& counts, std::int64_t samples) {
  Hdf5Writer writer;
  writer.scale<std::int64_t>("/tables/clicks/row", counts.size(), {"1", "row"});
  writer.dataset<std::int64_t>("/tables/clicks/count", counts, {"/tables/clicks/row"}, {"1", "accesses"});
  writer.attribute<std::int64_t>("/tables/clicks/count", "samples", samples);
  writer.save(path);
}
}  // namespace

TEST_CASE("access counts come from HDF5 as count / samples, sorted") {
  const TemporaryFolder folder("access_counts");
  write_counts(folder.path().string() + "/counts.h5", {1, 8, 3, 0}, 4);
  const std::string keys =
      "name: t, rows: 4, dim: 4, kind: sequence, access: {family: counts, file: counts.h5, table: clicks}";
  const Table table = parsed(one_table(keys), folder.path()).tables[0];
  CHECK(table.access.p == std::vector<double>{2, 0.75, 0.25, 0});
  CHECK(table.average_length == 3);
  CHECK_THROWS_WITH_AS(parsed(one_table(keys + ", row_order: popularity"), folder.path()),
                       doctest::Contains("row 1 has more accesses than row 0"), Error);
  write_counts(folder.path().string() + "/counts.h5", {8, 3, 1, 1}, 4);
  CHECK(parsed(one_table(keys + ", row_order: popularity"), folder.path()).tables[0].row_order == RowOrder::popularity);
}

TEST_CASE("access counts that do not fit are refused, naming file and table") {
  const TemporaryFolder folder("access_counts");
  const auto refused = [&](std::int64_t rows, const char* table, const char* fragment) {
    const std::string yaml = one_table(fmt::format(
        "name: t, rows: {}, dim: 4, kind: sequence, access: {{family: counts, file: c.h5, table: {}}}", rows, table));
    CHECK_THROWS_WITH_AS(parsed(yaml, folder.path()), doctest::Contains(fragment), Error);
    CHECK_THROWS_WITH_AS(parsed(yaml, folder.path()), doctest::Contains("c.h5"), Error);
  };
  refused(4, "clicks", "no such file");
  write_file(folder.path().string() + "/c.h5", "not HDF5 at all");
  refused(4, "clicks", "HDF5");
  write_counts(folder.path().string() + "/c.h5", {1, 8, 3, 0}, 4);
  refused(5, "clicks", "5 rows");
  refused(4, "likes", "likes");
  write_counts(folder.path().string() + "/c.h5", {1, -8, 3, 0}, 4);
  refused(4, "clicks", "negative");
  write_counts(folder.path().string() + "/c.h5", {1, 8, 3, 0}, 0);
  refused(4, "clicks", "samples");
}

}  // namespace shardsim::access_counts_test
