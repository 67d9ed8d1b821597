// The MPI wire as a rank of two or more, started by mpirun: several and large messages, stop(), what it does at the
// end. MPI starts once per process, so all of it is one program. Exit code 0: all well.
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

#include "base/error.h"
#include "validate/execute/meet/launch.h"
#include "validate/execute/wires/wire.h"

using namespace shardsim;

namespace {

void expect(bool holds, const char* what) {
  if (!holds) throw run_error(std::string("it does not hold that ") + what, "");
}

std::vector<std::byte> filled(std::size_t bytes, int seed) {
  std::vector<std::byte> data(bytes);
  for (std::size_t i = 0; i < bytes; ++i) data[i] = static_cast<std::byte>((i * 31 + (i >> 16)) % 251 + seed);
  return data;
}

// Around the ring of all ranks: two messages of `bytes` and of 5 bytes, and one of none.
void pass_around(Wire& wire, int channel, int rank, int world_size, std::size_t bytes) {
  const int next = (rank + 1) % world_size, previous = (rank + world_size - 1) % world_size;
  const auto large = filled(bytes, rank), small = filled(5, 100 + rank);
  std::vector<std::byte> got(bytes), then(5);
  const std::vector<Sending> sends = {{next, large.data(), bytes}, {next, small.data(), 5}, {next, nullptr, 0}};
  const std::vector<Receiving> receives = {
      {previous, got.data(), bytes}, {previous, then.data(), 5}, {previous, nullptr, 0}};
  wire.exchange(channel, sends, receives);
  expect(got == filled(bytes, previous), "the large message arrives");
  expect(then == filled(5, 100 + previous), "the small one arrives after it");
}

void on_two_channels_at_once(Wire& wire, int rank, int world_size) {
  std::vector<std::string> errors(2);
  std::vector<std::thread> threads;
  for (int channel = 0; channel < 2; ++channel)
    threads.emplace_back([&, channel] {
      try {
        for (int i = 0; i < 50; ++i) pass_around(wire, channel, rank, world_size, std::size_t{1000} << (i % 8));
      } catch (const Error& error) {
        errors[channel] = error.what();
      }
    });
  for (std::thread& thread : threads) thread.join();
  for (const std::string& error : errors)
    if (!error.empty()) throw run_error(error, "");
}

std::string error_of_waiting(Wire& wire, int peer) {
  std::byte data{};
  const Receiving receiving{peer, &data, 1};
  try {
    wire.exchange(1, {}, {&receiving, 1});
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

// Nobody sends: only stop() ends it, and what comes after it.
void stopping(Wire& wire, int peer) {
  std::string error;
  std::thread waiting([&] { error = error_of_waiting(wire, peer); });
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  wire.stop();
  waiting.join();
  expect(error.find("stopped") != std::string::npos, "stop() ends an exchange under way");
  expect(error_of_waiting(wire, peer).find("stopped") != std::string::npos, "and those to come");
}

void check(std::size_t largest, bool stop) {
  const auto rendezvous = Rendezvous::join(launch_from([](const char* name) { return std::getenv(name); }));
  const int rank = rendezvous->rank(), world_size = rendezvous->world_size();
  {
    const auto wire = connect_mpi(*rendezvous, 2);
    on_two_channels_at_once(*wire, rank, world_size);
    pass_around(*wire, 0, rank, world_size, largest);
    rendezvous->barrier("before the end");
    if (stop) stopping(*wire, (rank + 1) % world_size);
  }
  rendezvous->leave();
  if (rank == 0) std::printf("passed\n");
}

}  // namespace

// Arguments: bytes of the largest message, and "stop" to end by stop().
int main(int count, char** values) {
  try {
    check(count > 1 ? std::stoull(values[1]) : 40'000'000, count > 2);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "FAILED: %s\n", error.what());
    return 1;
  }
}
