#include <algorithm>
#include <bit>
#include <iterator>
#include <numeric>

#include "plan/planners/hugectr_search.h"

namespace shardsim {
namespace {

constexpr std::ptrdiff_t kInsertionSort = 15;  // distance from first to last

// Sorts numbers of values in place, by a way that says where equal values end.
class NumpySort {
 public:
  explicit NumpySort(const std::vector<double>& values) : values_(values), order_(values.size()) {
    std::iota(order_.begin(), order_.end(), 0);
  }

  std::vector<int> sorted() && {
    if (!order_.empty()) sort(0, last(), 2 * static_cast<int>(std::bit_width(order_.size())));
    return std::move(order_);
  }

 private:
  std::ptrdiff_t last() const { return std::ssize(order_) - 1; }
  double at(std::ptrdiff_t place) const {
    return values_[static_cast<std::size_t>(order_[static_cast<std::size_t>(place)])];
  }
  void swap(std::ptrdiff_t a, std::ptrdiff_t b) {
    std::swap(order_[static_cast<std::size_t>(a)], order_[static_cast<std::size_t>(b)]);
  }

  // Places `first` to `last`, both included. Parts do not touch each other, so their order does not matter.
  void sort(std::ptrdiff_t first, std::ptrdiff_t last, int depth) {
    const auto range = [&] { return std::pair(order_.begin() + first, order_.begin() + last + 1); };
    const auto rising = [&](int a, int b) {
      return values_[static_cast<std::size_t>(a)] < values_[static_cast<std::size_t>(b)];
    };
    while (last - first > kInsertionSort && depth-- > 0) {
      const std::ptrdiff_t middle = split(first, last);
      sort(first, middle - 1, depth);
      first = middle + 1;
    }
    if (first < last) std::stable_sort(range().first, range().second, rising);
  }

  // Leaves smaller values before the place that it returns, and larger ones behind.
  std::ptrdiff_t split(std::ptrdiff_t first, std::ptrdiff_t last) {
    const std::ptrdiff_t middle = first + (last - first) / 2;
    if (at(middle) < at(first)) swap(middle, first);
    if (at(last) < at(middle)) swap(last, middle);
    if (at(middle) < at(first)) swap(middle, first);
    const double pivot = at(middle);
    swap(middle, last - 1);
    std::ptrdiff_t low = first, high = last - 1;
    while (true) {
      do ++low;
      while (at(low) < pivot);
      do --high;
      while (pivot < at(high));
      if (low >= high) break;
      swap(low, high);
    }
    swap(low, last - 1);
    return low;
  }

  const std::vector<double>& values_;
  std::vector<int> order_;
};

}  // namespace

std::vector<int> numpy_order(const std::vector<double>& values) {
  return NumpySort(values).sorted();
}

}  // namespace shardsim
