#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "base/hdf5.h"
#include "models/access/access_distribution.h"

namespace shardsim {
namespace {

using Share = ObservedAccess::Share;

// Observed share of the first n rows: between two given points it follows the planned prefix sum.
double observed_share(const std::vector<Share>& shares, const AccessDistribution& planned, std::uint64_t n) {
  if (n == 0) return 0;
  if (n >= planned.rows()) return 1;
  const auto ends_before = [](const Share& share, std::uint64_t wanted) { return share.rows < wanted; };
  const auto next = std::lower_bound(shares.begin(), shares.end(), n, ends_before);
  const Share low = next == shares.begin() ? Share{0, 0} : *std::prev(next);
  const Share high = next == shares.end() ? Share{planned.rows(), 1} : *next;
  const double mass = planned.sum(low.rows, high.rows);
  // Rows that were planned without any access share what was observed evenly.
  const double part = mass > 0 ? planned.sum(low.rows, n) / mass
                               : static_cast<double>(n - low.rows) / static_cast<double>(high.rows - low.rows);
  return low.share + part * (high.share - low.share);
}

std::vector<std::int64_t> read_counts(const Hdf5Reader& reader, const std::string& name, std::uint64_t rows) {
  if (!reader.has(name)) reader.refuse(fmt::format("there is no dataset {}", name));
  const std::vector<std::size_t> shape = reader.shape(name);
  if (shape.size() != 1 || shape[0] != rows)
    reader.refuse(fmt::format("{} holds {} counts, the table has {} rows", name, fmt::join(shape, " x "), rows));
  std::vector<std::int64_t> counts = reader.integers(name);
  if (std::any_of(counts.begin(), counts.end(), [](std::int64_t count) { return count < 0; }))
    reader.refuse(fmt::format("{} holds a negative count", name));
  return counts;
}

}  // namespace

double ObservedAccess::sum(const AccessDistribution& planned, std::uint64_t first, std::uint64_t end) const {
  if (first >= end) return 0;
  const double length = average_length > 0 ? average_length : planned.total();
  return length * (observed_share(shares, planned, end) - observed_share(shares, planned, first));
}

std::vector<double> read_access_counts(const std::filesystem::path& file, const std::string& table,
                                       std::uint64_t rows) {
  const Hdf5Reader reader(file);
  const std::string name = "/tables/" + table + "/count";
  std::vector<std::int64_t> counts = read_counts(reader, name, rows);
  const std::int64_t samples = reader.integer_attribute(name, "samples");
  if (samples < 1) reader.refuse(fmt::format("attribute samples of {} is {}", name, samples));
  std::sort(counts.begin(), counts.end(), std::greater<>());
  std::vector<double> p(counts.size());
  std::transform(counts.begin(), counts.end(), p.begin(),
                 [&](std::int64_t count) { return static_cast<double>(count) / static_cast<double>(samples); });
  return p;
}

}  // namespace shardsim
