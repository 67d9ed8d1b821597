#include "models/access/row_lines.h"

#include <doctest/doctest.h>

namespace shardsim {

TEST_CASE("lines: rows that do not begin at a line touch one more") {
  CHECK(touched_bytes(512, 0, 512, 64) == 512);
  CHECK(touched_bytes(512, 16, 512, 64) == 576);
  CHECK(touched_bytes(16, 0, 16, 64) == 64);
  CHECK(touched_bytes(16, 48, 16, 64) == 64);
  CHECK(touched_bytes(32, 16, 32, 64) == 96);  // every other row lies across two lines
}

TEST_CASE("lines: where a table begins follows from the tables before it") {
  CallPlaces places(4, 32 + 512);
  CHECK(places.lines(32, 32) == RowLines{64, 128, 128});
  places.pass(3 * 32, 32);  // three rows: the next table begins half a line in
  CHECK(places.row(512, kGpuMemoryLine) == 576);
  CHECK(places.vector(512, kGpuCacheLine) == touched_bytes(512, 32, 544, 128));
  CallPlaces aligned(128, 544);
  aligned.pass(3 * 32, 32);
  CHECK(aligned.row(512, kGpuMemoryLine) == 512);
  CHECK(CallPlaces(4, 512).vector(512, kGpuCacheLine) == 512);  // nothing lies beside it
}

TEST_CASE("lines: the mean over all places lies between the best and the worst one") {
  // Of 16 places of a row of 64 bytes one needs a single line.
  CHECK(expected_lines(64, 64).memory == doctest::Approx(64 * (1 + 15 * 2) / 16.0));
  for (const std::int64_t bytes : {16, 48, 256, 1000}) {
    const RowLines lines = expected_lines(bytes, bytes);
    CHECK(lines.memory >= static_cast<double>(bytes));
    CHECK(lines.memory <= static_cast<double>(bytes + 2 * kGpuMemoryLine));
    CHECK(lines.cache >= lines.memory);
  }
}

}  // namespace shardsim
