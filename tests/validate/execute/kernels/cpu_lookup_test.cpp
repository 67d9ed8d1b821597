#include <doctest/doctest.h>

#include <cstring>
#include <stdexcept>

#include "tests/validate/execute/kernels/embedding_reference.h"
#include "tests/validate/execute/kernels/random_batch.h"
#include "validate/execute/kernels/cpu_kernels.h"

namespace shardsim::cpu_lookup_test {
namespace {

std::vector<float> looked_up(const RandomBatch& batch, int threads) {
  std::vector<float> out(static_cast<std::size_t>(batch.tables.bags * batch.tables.output_dim()), -7.0F);
  pooled_lookup(batch.tables, batch.arena.data(), batch.indices, batch.offsets, out.data(), threads);
  return out;
}

}  // namespace

TEST_CASE("a pooled lookup comes to the sum in double precision, up to the rounding of its additions") {
  for (const ElementType type : kElementTypes)
    for (std::uint64_t seed = 1; seed < 20; ++seed) {
      CAPTURE(seed);
      CAPTURE(static_cast<int>(type));
      const RandomBatch batch = random_batch(type, seed);
      const auto expected = reference::pooled_lookup(batch.tables, batch.arena.data(), batch.indices, batch.offsets);
      const std::vector<float> got = looked_up(batch, 1);
      int wrong = 0;
      for (std::size_t i = 0; i < got.size(); ++i)  // at most 11 rounded additions
        wrong += std::abs(got[i] - expected.out[i]) <= 12 * 0x1p-24 * expected.magnitude[i] ? 0 : 1;
      CHECK(wrong == 0);
    }
}

TEST_CASE("empty bags give zeros, also where the buffer held something") {
  RandomBatch batch = random_batch(ElementType::fp16, 3);
  batch.indices.clear();
  batch.offsets.assign(batch.offsets.size(), 0);
  for (const float value : looked_up(batch, 2)) CHECK(value == 0);
}

TEST_CASE("any number of threads gives the same bits") {
  for (const ElementType type : kElementTypes) {
    const RandomBatch batch = random_batch(type, 11);
    const std::vector<float> alone = looked_up(batch, 1);
    for (const int threads : {2, 3, 64, 1000}) CHECK(looked_up(batch, threads) == alone);
  }
}

TEST_CASE("an index outside its table is refused, whichever thread meets it") {
  for (const std::int64_t bad : {std::int64_t{-1}, std::int64_t{60}, INT64_MAX, INT64_MIN}) {
    RandomBatch batch = random_batch(ElementType::fp32, 5);
    batch.indices.back() = bad;
    CHECK_THROWS_AS(looked_up(batch, 1), std::out_of_range);
    CHECK_THROWS_AS(looked_up(batch, 3), std::out_of_range);
  }
}

TEST_CASE("offsets that fall, or that reach past the indices, are refused") {
  RandomBatch batch = random_batch(ElementType::fp32, 5);
  batch.offsets.back() += 1;
  CHECK_THROWS_AS(looked_up(batch, 1), std::out_of_range);
  batch.offsets.back() -= 1;
  std::swap(batch.offsets.front(), batch.offsets.back());
  CHECK_THROWS_AS(looked_up(batch, 1), std::out_of_range);
  batch.offsets.pop_back();
  CHECK_THROWS_AS(looked_up(batch, 1), std::out_of_range);
}

TEST_CASE("gathered rows are the table's, byte for byte") {
  for (const ElementType type : kElementTypes) {
    const RandomBatch batch = random_batch(type, 4, {67});
    const std::int64_t bytes = 67 * element_bytes(type), rows = batch.tables.rows[0];
    const std::byte* const table = batch.arena.data() + batch.tables.begin[0] * element_bytes(type);
    for (const int threads : {1, 4}) {
      std::vector<std::byte> out(batch.indices.size() * static_cast<std::size_t>(bytes));
      gather_rows(type, rows, 67, table, batch.indices, out.data(), threads);
      int wrong = 0;
      for (std::size_t i = 0; i < batch.indices.size(); ++i)
        wrong += std::memcmp(out.data() + i * bytes, table + batch.indices[i] * bytes, bytes) == 0 ? 0 : 1;
      CHECK(wrong == 0);
    }
  }
}

TEST_CASE("gathering refuses a row past the last one, and takes the last one") {
  const std::vector<float> table{1, 2, 3, 4};
  float out[2] = {};
  gather_rows(ElementType::fp32, 2, 2, table.data(), std::vector<std::int64_t>{1}, out, 1);
  CHECK(out[1] == 4);
  CHECK_THROWS_AS(gather_rows(ElementType::fp32, 2, 2, table.data(), std::vector<std::int64_t>{2}, out, 1),
                  std::out_of_range);
}

}  // namespace shardsim::cpu_lookup_test
