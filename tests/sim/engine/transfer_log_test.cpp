#include "sim/engine/transfer_log.h"

#include <doctest/doctest.h>

namespace shardsim::transfer_log_test {

TEST_CASE("a transfer is found under its number, whoever ended before it and whoever is missing in between") {
  TransferLog log;
  log.add(7, {1, 10});
  log.add(8, {2, 20});
  log.add(11, {3, 30});  // 9 and 10 are another session's
  CHECK(log.of(8).running == 2);
  CHECK(log.take(8).used == 20);
  CHECK(log.take(7).running == 1);
  CHECK(log.of(11).used == 30);
  log.add(12, {4, 40});
  CHECK(log.take(12).running == 4);
  CHECK(log.take(11).running == 3);
  log.add(1000, {5, 50});  // after all have ended numbers may be far from those before
  CHECK(log.take(1000).used == 50);
}

TEST_CASE("many transfers pass while one that began between them still moves") {
  constexpr int kPassing = 50'000;
  TransferLog log;
  for (int transfer = 0; transfer < kPassing; ++transfer) log.add(transfer, {transfer, -transfer});
  for (int transfer = 0; transfer < kPassing - 1; ++transfer) REQUIRE(log.take(transfer).running == transfer);
  for (int transfer = kPassing; transfer < 2 * kPassing; ++transfer) {
    log.add(transfer, {transfer, -transfer});
    REQUIRE(log.of(kPassing - 1).used == 1 - kPassing);
    REQUIRE(log.take(transfer).used == -transfer);
  }
  CHECK(log.take(kPassing - 1).running == kPassing - 1);
}

}  // namespace shardsim::transfer_log_test
