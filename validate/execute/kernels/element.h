#pragma once

#include <bit>
#include <cstdint>

namespace shardsim {

// Elements of tables as they lie in memory, to and from float by bit operations that a compiler can vectorise.
struct Half {
  std::uint16_t bits = 0;  // IEEE 754 binary16
};
struct Brain {
  std::uint16_t bits = 0;  // bfloat16: the upper half of a float
};

// The fp8 of wires: four bits of exponent, three of mantissa (OCP E4M3), no infinity, numbers up to 448.
struct Eighth {
  std::uint8_t bits = 0;
};
inline constexpr float kMostEighth = 448;

inline float widened(float value) {
  return value;
}

inline float widened(Eighth value) {
  const auto bits = static_cast<std::uint32_t>(value.bits);
  const float scaled = std::bit_cast<float>((bits & 0x7fU) << 20) * 0x1p120F;
  const std::uint32_t nan = (bits & 0x7fU) == 0x7fU ? 0x7fc00000U : 0U;
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(scaled) | nan | (bits & 0x80U) << 24);
}

inline float widened(Brain value) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(value.bits) << 16);
}

// Moves exponent and mantissa to float's places and corrects the exponent's bias by a multiplication with 2^112, which
// makes subnormal halves normal.
inline float widened(Half value) {
  const auto bits = static_cast<std::uint32_t>(value.bits);
  const float scaled = std::bit_cast<float>((bits & 0x7fffU) << 13) * 0x1p112F;
  const std::uint32_t infinite = scaled >= 65536.0F ? 0x7f800000U : 0U;  // infinity and NaN keep their mantissa
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(scaled) | infinite | (bits & 0x8000U) << 16);
}

// Rounded to nearest, ties to even.
template <typename Element>
Element narrowed(float value);

template <>
inline float narrowed<float>(float value) {
  return value;
}

template <>
inline Brain narrowed<Brain>(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t rounded = (bits + 0x7fffU + (bits >> 16 & 1U)) >> 16;
  const bool is_nan = (bits & 0x7fffffffU) > 0x7f800000U;
  return {static_cast<std::uint16_t>(is_nan ? bits >> 16 | 0x40U : rounded)};
}

template <>
inline Half narrowed<Half>(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = bits >> 16 & 0x8000U, magnitude = bits & 0x7fffffffU;
  // Adding 0.5 to a magnitude below 2^-14 leaves its multiple of 2^-24, rounded, in the lowest bits.
  const std::uint32_t small = std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude) + 0.5F) - 0x3f000000U;
  const std::uint32_t normal = (magnitude - 0x38000000U + 0xfffU + (magnitude >> 13 & 1U)) >> 13;
  const std::uint32_t finite = magnitude < 0x38800000U ? small : normal;
  const std::uint32_t large = magnitude > 0x7f800000U ? 0x7e00U : 0x7c00U;  // NaN, or infinity from 65520 on
  return {static_cast<std::uint16_t>(sign | (magnitude >= 0x477ff000U ? large : finite))};
}

// Larger numbers become the largest that there is, as codecs clamp them.
template <>
inline Eighth narrowed<Eighth>(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = bits >> 24 & 0x80U, magnitude = bits & 0x7fffffffU;
  if (magnitude > 0x7f800000U) return {static_cast<std::uint8_t>(sign | 0x7fU)};
  const std::uint32_t most = std::bit_cast<std::uint32_t>(kMostEighth);
  const std::uint32_t clamped = magnitude < most ? magnitude : most;
  // Adding 2^14 to a magnitude below 2^-6 leaves its multiple of 2^-9, rounded, in the lowest bits.
  const std::uint32_t small = std::bit_cast<std::uint32_t>(std::bit_cast<float>(clamped) + 0x1p14F) - 0x46800000U;
  const std::uint32_t normal = (clamped - 0x3c000000U + 0x7ffffU + (clamped >> 20 & 1U)) >> 20;
  return {static_cast<std::uint8_t>(sign | (clamped < 0x3c800000U ? small : normal))};
}

}  // namespace shardsim
