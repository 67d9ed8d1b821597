#include "models/access/access_counts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/hdf5/hdf5.h"
#include "base/hdf5/read_apart.h"

namespace shardsim {
namespace {

std::vector<std::int64_t> read_counts(const Hdf5Reader& reader, const std::string& name, std::uint64_t rows) {
  if (!reader.has(name)) reader.refuse(fmt::format("there is no dataset {}", name));
  const std::vector<std::size_t> shape = reader.shape(name);
  const std::string held = shape.empty() ? "a single value" : fmt::format("{} counts", fmt::join(shape, " x "));
  if (shape.size() != 1 || shape[0] != rows)
    reader.refuse(fmt::format("{} holds {}, the table has {} rows", name, held, rows));
  std::vector<std::int64_t> counts = reader.integers(name);
  if (std::any_of(counts.begin(), counts.end(), [](std::int64_t count) { return count < 0; }))
    reader.refuse(fmt::format("{} holds a negative count", name));
  return counts;
}

std::vector<double> counts_per_sample(const std::filesystem::path& file, const std::string& table, std::uint64_t rows) {
  const Hdf5Reader reader(file);
  const std::string name = "/tables/" + table + "/count";
  std::vector<std::int64_t> counts = read_counts(reader, name, rows);
  const std::int64_t samples = reader.integer_attribute(name, "samples");
  if (samples < 1) reader.refuse(fmt::format("attribute samples of {} is {}", name, samples));
  std::vector<double> p(counts.size());
  std::transform(counts.begin(), counts.end(), p.begin(),
                 [&](std::int64_t count) { return static_cast<double>(count) / static_cast<double>(samples); });
  return p;
}

std::string bytes_of(const std::vector<double>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(double)};
}

}  // namespace

// Apart, for the file is whosever; the bytes come from a process of this very program.
std::vector<double> read_access_counts(const std::filesystem::path& file, const std::string& table,
                                       std::uint64_t rows) {
  const std::string bytes = read_apart(file, [&] { return bytes_of(counts_per_sample(file, table, rows)); });
  std::vector<double> p(bytes.size() / sizeof(double));
  std::memcpy(p.data(), bytes.data(), bytes.size());
  return p;
}

}  // namespace shardsim
