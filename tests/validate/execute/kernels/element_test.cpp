#include "validate/execute/kernels/element.h"

#include <doctest/doctest.h>

#include <cmath>

#include "base/rng.h"
#include "tests/validate/execute/kernels/embedding_reference.h"

namespace shardsim::element_test {
namespace {

bool same(double got, double expected) {
  if (std::isnan(expected)) return std::isnan(got);
  return got == expected && std::signbit(got) == std::signbit(expected);
}

// The neighbours of `value` among all values of a 16-bit type, found by looking at every one; the nearer one, and at a
// tie the one with even bits.
template <typename Element, typename Decode>
std::uint16_t nearest_bits(float value, const Decode& decode) {
  std::uint16_t best = 0;
  double distance = INFINITY;
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const double candidate = decode(static_cast<std::uint16_t>(bits));
    if (!std::isfinite(candidate) || std::signbit(candidate) != std::signbit(value)) continue;
    const double d = std::abs(candidate - value);
    if (d < distance || (d == distance && bits % 2 == 0)) {
      distance = d;
      best = static_cast<std::uint16_t>(bits);
    }
  }
  return best;
}

}  // namespace

TEST_CASE("every 16-bit pattern is widened to the number that its definition gives, and comes back from there") {
  int wrong = 0, lost = 0;
  for (std::uint32_t pattern = 0; pattern < 0x10000; ++pattern) {
    const auto bits = static_cast<std::uint16_t>(pattern);
    const double half = reference::of_half(bits), brain = reference::of_brain(bits);
    wrong += same(widened(Half{bits}), half) ? 0 : 1;
    wrong += same(widened(Brain{bits}), brain) ? 0 : 1;
    if (!std::isnan(half)) lost += narrowed<Half>(static_cast<float>(half)).bits == bits ? 0 : 1;
    if (!std::isnan(brain)) lost += narrowed<Brain>(static_cast<float>(brain)).bits == bits ? 0 : 1;
  }
  CHECK(wrong == 0);
  CHECK(lost == 0);
}

TEST_CASE("narrowing takes the nearest number, and the even one of two that are equally near") {
  Rng rng(7);
  for (int i = 0; i < 200; ++i) {
    const float value =
        static_cast<float>(rng.uniform() * 2 - 1) * std::ldexp(1.0F, static_cast<int>(rng.below(34)) - 24);
    CAPTURE(value);
    CHECK(narrowed<Half>(value).bits == nearest_bits<Half>(value, reference::of_half));
    CHECK(narrowed<Brain>(value).bits == nearest_bits<Brain>(value, reference::of_brain));
  }
  CHECK(narrowed<Half>(1 + 0x1p-11F).bits == 0x3c00);      // tie, down to even
  CHECK(narrowed<Half>(1 + 3 * 0x1p-11F).bits == 0x3c02);  // tie, up to even
  CHECK(narrowed<Half>(0x1p-25F).bits == 0);               // half of the smallest
  CHECK(narrowed<Half>(0x1.8p-24F).bits == 2);
}

TEST_CASE("narrowing keeps infinities and NaN, and makes numbers that are too large infinite") {
  CHECK(narrowed<Half>(65519.0F).bits == 0x7bff);
  CHECK(narrowed<Half>(65520.0F).bits == 0x7c00);
  CHECK(narrowed<Half>(-INFINITY).bits == 0xfc00);
  CHECK(std::isnan(widened(narrowed<Half>(NAN))));
  CHECK(std::isnan(widened(narrowed<Brain>(NAN))));
  CHECK(widened(narrowed<Brain>(3.4e38F)) == INFINITY);
}

// OCP E4M3: sign, 4 bits of exponent with a bias of 7, 3 of mantissa; 0x7f is no number.
TEST_CASE("fp8 of wires holds what its definition says, rounds to the nearest and clamps at 448") {
  const auto value = [](int bits) {
    const int exponent = bits >> 3 & 15, mantissa = bits & 7;
    const double size = exponent == 0 ? std::ldexp(mantissa, -9) : std::ldexp(8 + mantissa, exponent - 10);
    return bits & 0x80 ? -size : size;
  };
  for (int bits = 0; bits < 0x100; ++bits) {
    if ((bits & 0x7f) == 0x7f) continue;
    const float wide = widened(Eighth{static_cast<std::uint8_t>(bits)});
    CHECK(same(wide, value(bits)));
    CHECK(narrowed<Eighth>(wide).bits == bits);
  }
  CHECK(std::isnan(widened(narrowed<Eighth>(NAN))));
  Rng rng(5);
  for (int draw = 0; draw < 20000; ++draw) {
    const float given =
        std::ldexp(static_cast<float>(rng.below(1 << 20)) / (1 << 19) - 1, static_cast<int>(rng.below(24)) - 12);
    int best = 0;
    for (int bits = given < 0 ? 0x80 : 0; bits < (given < 0 ? 0xff : 0x7f); ++bits) {
      const double distance = std::abs(value(bits) - given), least = std::abs(value(best) - given);
      if (bits == 0x80 || distance < least || (distance == least && bits % 2 == 0)) best = bits;
    }
    CAPTURE(given);
    CHECK(value(narrowed<Eighth>(given).bits) == value(best));
  }
  CHECK(widened(narrowed<Eighth>(1e9F)) == 448);
  CHECK(widened(narrowed<Eighth>(-INFINITY)) == -448);
}

}  // namespace shardsim::element_test
