#include "validate/execute/kernels/touched_rows.h"

#include <algorithm>
#include <array>
#include <bit>

namespace shardsim {
namespace {

constexpr int kDigitBits = 11;
constexpr std::size_t kDigits = std::size_t{1} << kDigitBits;
constexpr std::size_t kFew = 256;  // below, comparing beats counting

std::size_t digit(const TouchedRow& touched, int shift) {
  return static_cast<std::size_t>(touched.row >> shift) & (kDigits - 1);
}

void one_pass(const std::vector<TouchedRow>& from, std::vector<TouchedRow>& to, int shift) {
  std::array<std::size_t, kDigits> place{};
  for (const TouchedRow& touched : from) ++place[digit(touched, shift)];
  std::size_t before = 0;
  for (std::size_t& count : place) {
    const std::size_t begin = before;
    before += count;
    count = begin;
  }
  for (const TouchedRow& touched : from) to[place[digit(touched, shift)]++] = touched;
}

}  // namespace

void sort_by_row(std::vector<TouchedRow>& touched, std::vector<TouchedRow>& scratch, std::int64_t rows) {
  if (touched.size() < kFew) {
    std::ranges::stable_sort(touched, {}, &TouchedRow::row);
    return;
  }
  scratch.resize(touched.size());
  const auto bits = static_cast<int>(std::bit_width(static_cast<std::uint64_t>(rows)));
  for (int shift = 0; shift < bits; shift += kDigitBits) {
    one_pass(touched, scratch, shift);
    touched.swap(scratch);
  }
}

}  // namespace shardsim
