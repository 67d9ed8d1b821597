#include <doctest/doctest.h>

#include <mutex>

#include "tests/validate/execute/ranks.h"
#include "validate/execute/meet/clock.h"
#include "validate/execute/meet/rendezvous.h"

namespace shardsim::clock_offset_test {

TEST_CASE("between two measurements of a clock its offset is on a line, and the worse residual counts") {
  ClockLine line;
  CHECK(line.offset_at(7) == 0);
  line.measured(10, {1.0, 1e-6});
  CHECK(line.offset_at(3) == 1.0);
  line.measured(20, {1.5, 4e-6});
  CHECK(line.offset_at(10) == 1.0);
  CHECK(line.offset_at(15) == doctest::Approx(1.25));
  CHECK(line.offset_at(99) == 1.5);
  CHECK(line.drift() == doctest::Approx(0.5));
  CHECK(line.residual() == 4e-6);
}

TEST_CASE("the offset comes from the exchange with the shortest round trip, half of which is in doubt") {
  // Round trips of 300, 100 and 200 ns; the remote clock is 5000 ns ahead and looks halfway but in the slow ones.
  std::int64_t here = 1000, asked = 0;
  const auto offset = measured_offset([&] { return here; },
                                      [&] {
                                        const std::int64_t trip = asked == 0 ? 300 : asked == 1 ? 100 : 200;
                                        const std::int64_t there = here + 5000 + (asked == 1 ? 50 : trip);
                                        ++asked;
                                        here += trip;
                                        return there;
                                      },
                                      3);
  CHECK(asked == 3);
  CHECK(offset.seconds == doctest::Approx(5000e-9));
  CHECK(offset.residual == doctest::Approx(50e-9));
}

TEST_CASE("ranks of one kernel share the clock") {
  CHECK_FALSE(clock_identity().empty());
  const auto errors = test::in_world(3, [](Rendezvous& rendezvous) {
    const auto offset = rendezvous.clock_offset();
    CHECK(offset.seconds == 0);
    CHECK(offset.residual == 0);
  });
  CHECK(errors == std::vector<std::string>(3));
}

// Two "kernels" beside rank 0's, whose clocks are really one: what is measured must be 0 within the residual.
TEST_CASE("one rank per foreign kernel measures, its neighbours take that over") {
  const int port = test::free_port();
  const std::vector<std::string> kernels = {"a", "b", "b", "c"};
  std::vector<Rendezvous::ClockOffset> offsets(4);
  const auto errors = test::on_threads({0, 1, 2, 3}, [&](int rank) {
    const Launch launch = test::launch_of(rank, 4, port);
    RendezvousLimits limits;
    limits.clock = kernels[rank];
    const auto rendezvous = Rendezvous::join(launch, 30, limits);
    offsets[rank] = rendezvous->clock_offset();
    rendezvous->leave();
  });
  CHECK(errors == std::vector<std::string>(4));
  CHECK(offsets[0].residual == 0);
  CHECK(offsets[1].residual > 0);
  CHECK(offsets[3].residual > 0);
  for (const auto& offset : offsets) CHECK(std::abs(offset.seconds) <= offset.residual);
  CHECK(offsets[1].seconds == offsets[2].seconds);
  CHECK(offsets[1].residual == offsets[2].residual);
}

}  // namespace shardsim::clock_offset_test
