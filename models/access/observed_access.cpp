#include <algorithm>

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

}  // namespace

double ObservedAccess::sum(const AccessDistribution& planned, std::uint64_t first, std::uint64_t end) const {
  if (first >= end) return 0;
  const double length = average_length > 0 ? average_length : planned.total();
  return length * (observed_share(shares, planned, end) - observed_share(shares, planned, first));
}

}  // namespace shardsim
