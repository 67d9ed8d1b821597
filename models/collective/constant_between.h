#pragma once

#include <algorithm>
#include <cmath>
#include <optional>
#include <type_traits>

#include "base/units.h"
#include "topology/spec/overhead_spec.h"

namespace shardsim {

// A constant between two pieces of evidence: `share`, 0 to 1, is the part of `value` in it. Times of fills grow with
// their root, so that is what is shared out.
template <typename Value>
Value constant_between(const Value& held, const Value& value, double share) {
  if constexpr (std::is_same_v<Value, bool>) return share < .5 ? held : value;
  if constexpr (std::is_same_v<Value, double>) return std::pow(held, 1 - share) * std::pow(value, share);
  if constexpr (std::is_same_v<Value, Seconds>)
    return {std::pow((1 - share) * std::sqrt(held.value) + share * std::sqrt(value.value), 2)};
  if constexpr (std::is_same_v<Value, Bandwidth>)
    return {constant_between(held.bytes_per_second, value.bytes_per_second, share)};
}

template <typename Value>
Value constant_between(const std::optional<Value>& held, const Value& value, double share) {
  return held ? constant_between(*held, value, share) : value;
}

// The constants of a kind and reach; the range is that of `value`.
inline OverheadConstants constant_between(const OverheadConstants& held, OverheadConstants value, double share) {
  const auto mix = [share](const auto& of_held, auto& of_value) {
    of_value = constant_between(of_held, of_value, share);
  };
  mix(held.start, value.start);
  mix(held.per_remote_peer, value.per_remote_peer);
  mix(held.efficiency, value.efficiency);
  if (held.nvls_fill || value.nvls_fill)
    value.nvls_fill = constant_between(held.fill_of(true), value.fill_of(true), share);
  mix(held.fill, value.fill);
  mix(held.latency_share, value.latency_share);
  mix(held.plateau, value.plateau);
  if (value.nic_efficiency) mix(held.nic_efficiency, *value.nic_efficiency);
  if (value.nic_rate) mix(held.nic_rate, *value.nic_rate);
  if (value.channel_rate) mix(held.channel_rate, *value.channel_rate);
  value.beside_start = (1 - share) * held.beside_start + share * value.beside_start;
  return value;
}

// `constants` where they let a call take no less time than `than` do. `launch` is the least that `beside_start` counts.
inline OverheadConstants no_faster(const OverheadConstants& than, OverheadConstants constants, Seconds launch) {
  const double more_beside = constants.beside_start - than.beside_start;
  constants.start = std::max(constants.start, than.start - more_beside * launch);
  constants.per_remote_peer = std::max(constants.per_remote_peer, than.per_remote_peer);
  constants.efficiency = std::min(constants.efficiency, than.efficiency);
  if (constants.nvls_fill || than.nvls_fill)
    constants.nvls_fill = std::max(constants.fill_of(true), than.fill_of(true));
  constants.fill = std::max(constants.fill, than.fill);
  constants.latency_share = std::max(constants.latency_share, than.latency_share);
  constants.plateau = constants.plateau || than.plateau;
  if (than.nic_efficiency)
    constants.nic_efficiency = std::min(constants.nic_efficiency.value_or(1), *than.nic_efficiency);
  if (than.nic_rate) constants.nic_rate = std::min(constants.nic_rate.value_or(*than.nic_rate), *than.nic_rate);
  if (than.channel_rate)
    constants.channel_rate = std::min(constants.channel_rate.value_or(*than.channel_rate), *than.channel_rate);
  return constants;
}

}  // namespace shardsim
