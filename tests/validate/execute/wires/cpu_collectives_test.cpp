#include "validate/execute/wires/cpu_collectives.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <numeric>
#include <thread>

#include "tests/validate/execute/ranks.h"
#include "validate/execute/kernels/element.h"

namespace shardsim::cpu_collectives_test {

namespace {

constexpr std::array kWorlds = {1, 2, 3, 4, 8};
constexpr std::array<std::size_t, 6> kCounts = {0, 1, 3, 8, 1001, 70'000};

// Runs `body` on every rank of a world that is connected on `channels` channels; nobody may throw.
void with_wires(int world_size, int channels, const std::function<void(Rendezvous&, Wire&)>& body) {
  const auto errors = test::in_world(world_size, [&](Rendezvous& rendezvous) {
    const std::unique_ptr<Wire> wire =
        std::ranges::find(wires(), "sockets", &WireEntry::name)->connect(rendezvous, channels);
    body(rendezvous, *wire);
    rendezvous.barrier("the end of the wires");
  });
  CHECK(errors == std::vector<std::string>(static_cast<std::size_t>(world_size)));
}

GroupSeat whole_world(const Rendezvous& rendezvous, int ranks_per_node = 2, int channel = 0) {
  GroupSeat seat;
  seat.ranks.resize(static_cast<std::size_t>(rendezvous.world_size()));
  std::iota(seat.ranks.begin(), seat.ranks.end(), 0);
  seat.position = rendezvous.rank();
  seat.ranks_per_node = ranks_per_node;
  seat.channel = channel;
  return seat;
}

// Byte `i` of the chunk from one member to another.
std::byte byte_of(int source, int destination, std::size_t i) {
  return static_cast<std::byte>(31 * source + 7 * destination + 13 * static_cast<int>(i % 251) + 1);
}

using ChunkBytes = std::function<std::int64_t(int source, int destination)>;

// The first period byte by byte, the rest copied: some chunks are megabytes.
void add_chunk(std::vector<std::byte>& all, int source, int destination, std::int64_t bytes) {
  constexpr std::size_t kPeriod = 251;
  const std::size_t begin = all.size(), count = static_cast<std::size_t>(bytes);
  all.resize(begin + count);
  for (std::size_t i = 0; i < std::min(count, kPeriod); ++i) all[begin + i] = byte_of(source, destination, i);
  for (std::size_t done = kPeriod; done < count; done *= 2)
    std::memcpy(&all[begin + done], &all[begin], std::min(done, count - done));
}

// Chunks one after the other, of which one end is `position`.
std::vector<std::byte> chunks_from(int position, int members, const ChunkBytes& bytes) {
  std::vector<std::byte> all;
  for (int d = 0; d < members; ++d) add_chunk(all, position, d, bytes(position, d));
  return all;
}

std::vector<std::byte> chunks_to(int position, int members, const ChunkBytes& bytes) {
  std::vector<std::byte> all;
  for (int s = 0; s < members; ++s) add_chunk(all, s, position, bytes(s, position));
  return all;
}

void check_all_to_all(Wire& wire, const GroupSeat& seat, const ByteMatrix& matrix, const ChunkBytes& bytes) {
  const int members = static_cast<int>(seat.ranks.size());
  const std::vector<std::byte> in = chunks_from(seat.position, members, bytes);
  const std::vector<std::byte> expected = chunks_to(seat.position, members, bytes);
  std::vector<std::byte> out(expected.size(), std::byte{0});
  all_to_all(wire, seat, matrix, in.data(), out.data());
  CHECK((out.empty() || std::memcmp(out.data(), expected.data(), out.size()) == 0));
}

// Whole numbers, so that sums are exact in any order.
float value_of(int rank, std::size_t i) {
  return static_cast<float>(static_cast<int>((i * 7 + static_cast<std::size_t>(rank) * 5) % 201) - 100);
}

std::vector<float> values_of(int rank, std::size_t count) {
  std::vector<float> values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = value_of(rank, i);
  return values;
}

std::vector<float> sum_over(const std::vector<int>& ranks, std::size_t count) {
  std::vector<float> sums(count, 0);
  for (const int rank : ranks)
    for (std::size_t i = 0; i < count; ++i) sums[i] += value_of(rank, i);
  return sums;
}

void check_all_reduce(Wire& wire, const GroupSeat& seat, std::size_t count) {
  std::vector<float> values = values_of(seat.ranks[seat.position], count), scratch;
  all_reduce(wire, seat, {values.data(), count}, scratch);
  CHECK(values == sum_over(seat.ranks, count));
}

// The chunk of a position, as the header defines it.
std::pair<std::size_t, std::size_t> chunk(const GroupSeat& seat, int position, std::size_t count) {
  const std::size_t p = static_cast<std::size_t>(position), n = seat.ranks.size();
  return {p * count / n, (p + 1) * count / n};
}

}  // namespace

TEST_CASE("all-to-all: even, with units that do not divide") {
  for (const int world : kWorlds)
    with_wires(world, 1, [&](Rendezvous& rendezvous, Wire& wire) {
      for (const std::int64_t units : {0, 1, 13, 4096}) {
        ByteMatrix matrix;
        matrix.unit_bytes = 12;
        matrix.units = {units};
        const auto bytes = [&](int s, int d) {  // one more for the first units % members destinations from s on
          const std::int64_t more = (d - s + world) % world < units % world ? 1 : 0;
          return 12 * (units / world + more);
        };
        check_all_to_all(wire, whole_world(rendezvous), matrix, bytes);
      }
    });
}

TEST_CASE("all-to-all: by destination and by source, with empty chunks, and backwards") {
  for (const int world : kWorlds)
    with_wires(world, 1, [&](Rendezvous& rendezvous, Wire& wire) {
      ByteMatrix matrix;
      matrix.kind = ByteMatrix::Kind::by_destination;
      matrix.unit_bytes = 8;
      for (int p = 0; p < world; ++p) matrix.units.push_back(p % 3 * 100);
      const auto bytes = [&](int, int d) { return std::int64_t{8} * (d % 3 * 100); };
      check_all_to_all(wire, whole_world(rendezvous), matrix, bytes);
      matrix.transposed = true;
      check_all_to_all(wire, whole_world(rendezvous), matrix, [&](int s, int d) { return bytes(d, s); });
    });
}

TEST_CASE("all-to-all: dense, skewed, larger than any socket buffer") {
  for (const int world : kWorlds)
    with_wires(world, 1, [&](Rendezvous& rendezvous, Wire& wire) {
      const auto bytes = [&](int s, int d) {
        return s == 0 && d == world - 1 ? std::int64_t{9'000'001} : (s + 2 * d) % 4 * std::int64_t{70'000};
      };
      ByteMatrix matrix;
      matrix.kind = ByteMatrix::Kind::dense;
      for (int s = 0; s < world; ++s) {
        matrix.dense.emplace_back();
        for (int d = 0; d < world; ++d) matrix.dense.back().push_back(bytes(s, d));
      }
      check_all_to_all(wire, whole_world(rendezvous), matrix, bytes);
    });
}

TEST_CASE("all-reduce equals the plain sum") {
  for (const int world : kWorlds)
    with_wires(world, 1, [&](Rendezvous& rendezvous, Wire& wire) {
      for (const std::size_t count : kCounts) check_all_reduce(wire, whole_world(rendezvous), count);
    });
}

TEST_CASE("reduce-scatter leaves the sum in the own chunk, all-gather fills the others") {
  for (const int world : kWorlds)
    with_wires(world, 1, [&](Rendezvous& rendezvous, Wire& wire) {
      const GroupSeat seat = whole_world(rendezvous);
      for (const std::size_t count : kCounts) {
        std::vector<float> values = values_of(rendezvous.rank(), count), scratch;
        reduce_scatter(wire, seat, {values.data(), count}, scratch);
        const std::vector<float> sums = sum_over(seat.ranks, count);
        const std::pair<std::size_t, std::size_t> own = chunk(seat, seat.position, count);
        for (std::size_t i = own.first; i < own.second; ++i) REQUIRE(values[i] == sums[i]);
        std::vector<float> gathered(count, -1);
        std::copy(sums.begin() + own.first, sums.begin() + own.second, gathered.begin() + own.first);
        all_gather(wire, seat, {gathered.data(), count});
        CHECK(gathered == sums);
      }
    });
}

// Small whole numbers, which two bytes hold, and so do their sums.
TEST_CASE("sums and means in the types of two bytes") {
  for (const int world : {2, 4})
    with_wires(world, 1, [&](Rendezvous& rendezvous, Wire& wire) {
      const GroupSeat seat = whole_world(rendezvous);
      for (const std::size_t count : {std::size_t{0}, std::size_t{1}, std::size_t{1001}}) {
        std::vector<Half> halves(count);
        std::vector<Brain> brains(count);
        std::vector<float> scratch;
        for (std::size_t i = 0; i < count; ++i) {
          halves[i] = narrowed<Half>(static_cast<float>(i % 50 + static_cast<std::size_t>(rendezvous.rank())));
          brains[i] = narrowed<Brain>(static_cast<float>(i % 50));
        }
        all_reduce(wire, seat, {halves.data(), count, ElementType::fp16}, scratch);
        all_reduce(wire, seat, {brains.data(), count, ElementType::bf16}, scratch);
        divide({brains.data(), count, ElementType::bf16}, seat.ranks.size());
        const auto ranks = static_cast<float>(world);
        for (std::size_t i = 0; i < count; ++i) {
          REQUIRE(widened(halves[i]) == ranks * static_cast<float>(i % 50) + ranks * (ranks - 1) / 2);
          REQUIRE(widened(brains[i]) == static_cast<float>(i % 50));
        }
      }
    });
}

TEST_CASE("broadcast brings position 0's bytes to all, whatever the chunks") {
  for (const int world : kWorlds)
    with_wires(world, 1, [&](Rendezvous& rendezvous, Wire& wire) {
      for (const std::size_t bytes : {0, 1, 100, 1000, 300'001})
        for (const std::size_t chunk_bytes : {7, 100, 65536}) {
          if (bytes / chunk_bytes > 1000) continue;
          std::vector<std::byte> data(bytes, std::byte{0}), expected(bytes);
          for (std::size_t i = 0; i < bytes; ++i) expected[i] = byte_of(0, 0, i);
          if (rendezvous.rank() == 0) data = expected;
          broadcast(wire, whole_world(rendezvous), data.data(), bytes, chunk_bytes);
          CHECK(data == expected);
        }
    });
}

TEST_CASE("send-recv hands every rank's bytes to the next position") {
  for (const int world : kWorlds)
    with_wires(world, 1, [&](Rendezvous& rendezvous, Wire& wire) {
      const int rank = rendezvous.rank(), before = (rank + world - 1) % world;
      std::vector<std::byte> in(5000), out(5000), expected(5000);
      for (std::size_t i = 0; i < in.size(); ++i) {
        in[i] = byte_of(rank, 0, i);
        expected[i] = byte_of(before, 0, i);
      }
      send_recv(wire, whole_world(rendezvous), in.data(), out.data(), in.size());
      CHECK(out == expected);
    });
}

TEST_CASE("groups: inside nodes and across them, side by side") {
  with_wires(8, 1, [&](Rendezvous& rendezvous, Wire& wire) {
    const int node = rendezvous.rank() / 4, local = rendezvous.rank() % 4;
    GroupSeat inside{{}, local, 4, 0}, rail{{local, local + 4}, node, 4, 0};
    for (int i = 0; i < 4; ++i) inside.ranks.push_back(4 * node + i);
    check_all_reduce(wire, inside, 1001);
    check_all_reduce(wire, rail, 1001);
    ByteMatrix matrix;
    matrix.units = {4 * 300};
    check_all_to_all(wire, inside, matrix, [](int, int) { return 300; });
  });
}

TEST_CASE("two channels carry two collectives at once, from two threads of each rank") {
  with_wires(4, 2, [&](Rendezvous& rendezvous, Wire& wire) {
    const auto reduce = [&] {
      for (int i = 0; i < 20; ++i) check_all_reduce(wire, whole_world(rendezvous, 2, 1), 30'000);
    };
    std::thread other(reduce);
    ByteMatrix matrix;
    matrix.units = {4 * 50'000};
    for (int i = 0; i < 20; ++i)
      check_all_to_all(wire, whole_world(rendezvous, 2, 0), matrix, [](int, int) { return 50'000; });
    other.join();
  });
}

TEST_CASE("an all-to-all sends nothing before its receiver has come, however much the medium would take") {
  std::atomic<bool> sent = false;
  with_wires(2, 1, [&](Rendezvous& rendezvous, Wire& wire) {
    ByteMatrix matrix;
    matrix.kind = ByteMatrix::Kind::dense;
    matrix.dense = {{0, 5000}, {0, 0}};
    std::vector<std::byte> in(5000), out(5000);
    if (rendezvous.rank() == 1) {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      CHECK_FALSE(sent);
    }
    all_to_all(wire, whole_world(rendezvous), matrix, in.data(), out.data());
    if (rendezvous.rank() == 0) sent = true;
  });
}

TEST_CASE("a wire counts what it is given, by peer and channel") {
  with_wires(3, 2, [&](Rendezvous& rendezvous, Wire& wire) {
    const int rank = rendezvous.rank(), next = (rank + 1) % 3, before = (rank + 2) % 3;
    std::vector<std::byte> in(700'000), out(700'000);
    const Sending sending{next, in.data(), in.size()};
    const Receiving receiving{before, out.data(), out.size()};
    wire.exchange(1, {&sending, 1}, {&receiving, 1});
    wire.exchange(1, {&sending, 1}, {&receiving, 1});
    std::vector<std::int64_t> expected(3, 0);
    CHECK(wire.sent(0) == expected);
    expected[static_cast<std::size_t>(next)] = 1'400'000;
    CHECK(wire.sent(1) == expected);
  });
}

}  // namespace shardsim::cpu_collectives_test
