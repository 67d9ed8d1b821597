#pragma once

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <vector>

namespace shardsim {

// Sorts by rising `key`, a member that is 0 or more and not far above the number of items; those of one key stay in
// their order. For long lists whose keys are numbers of ranks, streams and operations: no item is compared.
template <typename Item>
void put_in_order(std::vector<Item>& items, int Item::*key) {
  if (items.empty()) return;
  const int most = (*std::ranges::max_element(items, {}, key)).*key;
  std::vector<std::size_t> place(static_cast<std::size_t>(most) + 2, 0);
  for (const Item& item : items) ++place[static_cast<std::size_t>(item.*key) + 1];
  std::partial_sum(place.begin(), place.end(), place.begin());
  std::vector<Item> ordered(items.size());
  for (const Item& item : items) ordered[place[static_cast<std::size_t>(item.*key)]++] = item;
  items.swap(ordered);
}

}  // namespace shardsim
