#include "validate/execute/devices/nccl_set.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <set>
#include <thread>

#include "base/error.h"
#include "validate/execute/meet/clock.h"

namespace shardsim {
namespace {

constexpr double kCallPatience = 2;  // seconds that a call under way gets before its communicator is taken away

std::string result_text(ncclResult_t result) {
  return std::string("NCCL says '") + ncclGetErrorString(result) + "'";
}

void check(ncclResult_t result, const std::string& doing) {
  if (result == ncclSuccess) return;
  const char* last = ncclGetLastError(nullptr);
  const std::string more = last != nullptr && *last != 0 ? std::string(": ") + last : "";
  throw run_error(doing + ": " + result_text(result) + more,
                  "Run again with NCCL_DEBUG=WARN in the environment to see why");
}

std::string to_text(const ncclUniqueId& id) {
  return {id.internal, sizeof(id.internal)};
}

ncclUniqueId from_text(const std::string& text, const std::string& doing) {
  ncclUniqueId id;
  if (text.size() != sizeof(id.internal))
    throw run_error(doing + ": no communicator's name came from its first rank", "Start the run again");
  std::copy(text.begin(), text.end(), id.internal);
  return id;
}

// What the thread that connects leaves behind. Shared, because a thread that hangs in NCCL outlives who waits for it.
struct Connection {
  ncclComm_t communicator = nullptr;
  ncclResult_t result = ncclSuccess;
  std::atomic<bool> done = false;
};

std::shared_ptr<Connection> start_connecting(int members, const ncclUniqueId& id, int position) {
  const auto connection = std::make_shared<Connection>();
  int device = 0;
  cuda::check(cudaGetDevice(&device), "the current GPU");
  std::thread([connection, members, id, position, device] {
    cudaSetDevice(device);
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    connection->result = ncclCommInitRankConfig(&connection->communicator, members, id, position, &config);
    connection->done = true;
  }).detach();
  return connection;
}

ncclDataType_t type_of(const std::string& dtype) {
  if (dtype == "fp16") return ncclHalf;
  if (dtype == "bf16") return ncclBfloat16;
  return ncclFloat;
}

std::size_t bytes_of(ncclDataType_t type) {
  return type == ncclFloat ? 4 : 2;
}

}  // namespace

NcclSet::NcclSet(const Program& program, Rendezvous& rendezvous, double limit_s)
    : program_(program), rank_(rendezvous.rank()) {
  std::set<Key> keys;
  for (const Op& op : program.ops) {
    if (op.is_collective()) keys.insert({op.stream, op.group});
  }
  try {
    for (const Key& key : keys) connect(key, program, rendezvous, limit_s);
  } catch (...) {
    abort();
    throw;
  }
}

NcclSet::~NcclSet() {
  abort();  // not destroy: that would wait for the others
}

void NcclSet::connect(const Key& key, const Program& program, Rendezvous& rendezvous, double limit_s) {
  const std::string doing = "connecting group '" + key.second + "' by NCCL";
  Op op;
  op.group = key.second;
  const Seat seat = seat_of(program, op, rank_);
  ncclUniqueId own{};
  const bool names = seat.ranks.size() > 1 && seat.position == 0;
  if (names) check(ncclGetUniqueId(&own), doing);
  const std::vector<std::string> ids = rendezvous.all_gather(names ? to_text(own) : "", doing);
  if (seat.ranks.size() < 2) return;
  const auto connection =
      start_connecting(static_cast<int>(seat.ranks.size()), from_text(ids[seat.ranks.front()], doing), seat.position);
  const double deadline = monotonic_seconds() + limit_s;
  while (!connection->done) {
    if (!rendezvous.failure().empty()) throw run_error(rendezvous.failure(), "");
    if (monotonic_seconds() > deadline)
      throw run_error("rank " + std::to_string(rank_) + ", " + doing + ": no answer within " +
                          std::to_string(static_cast<int>(limit_s)) + " s",
                      "Run again with NCCL_DEBUG=INFO; NCCL_SOCKET_IFNAME names the network to use");
    sleep_until(monotonic_seconds() + 0.002);
  }
  check(connection->result, "rank " + std::to_string(rank_) + ", " + doing);
  const std::lock_guard lock(mutex_);
  communicators_[key] = connection->communicator;
}

NcclSeat NcclSet::seat(const Op& op) const {
  const auto found = communicators_.find({op.stream, op.group});
  return {seat_of(program_, op, rank_), found == communicators_.end() ? nullptr : found->second};
}

std::string NcclSet::version() {
  int code = 0;
  if (ncclGetVersion(&code) != ncclSuccess) return {};
  return std::to_string(code / 10000) + "." + std::to_string(code / 100 % 100) + "." + std::to_string(code % 100);
}

bool NcclSet::shares_gpus() {
  int code = 0;
  return ncclGetVersion(&code) == ncclSuccess && code >= 23000;
}

void NcclSet::enter() {
  const std::lock_guard lock(mutex_);
  if (aborted_) throw run_error("the collectives were stopped", "");
  in_call_ = true;
}

void NcclSet::leave() {
  const std::lock_guard lock(mutex_);
  in_call_ = false;
}

// Calls of NCCL inside a group of them; `calls` returns the first result that is no success.
template <typename Calls>
void NcclSet::call(const Op& op, const Calls& calls) {
  enter();
  ncclResult_t result = ncclGroupStart();
  if (result == ncclSuccess) {
    result = calls();
    const ncclResult_t end = ncclGroupEnd();
    if (result == ncclSuccess) result = end;
  }
  leave();
  check(result, "rank " + std::to_string(rank_) + ", " + op.name);
}

void NcclSet::all_to_all(const NcclSeat& seat, const Op& op, const ByteMatrix& matrix, const void* in, void* out,
                         cuda::Stream stream) {
  const int members = seat.members(), own = seat.seat.position;
  if (seat.communicator == nullptr) {
    const auto bytes = static_cast<std::size_t>(matrix.bytes_between(0, 0, 1));
    return cuda::check(cudaMemcpyAsync(out, in, bytes, cudaMemcpyDeviceToDevice, stream), op.name);
  }
  const auto* from = static_cast<const char*>(in);
  auto* to = static_cast<char*>(out);
  call(op, [&] {
    for (int peer = 0; peer < members; ++peer) {
      const auto sent = static_cast<std::size_t>(matrix.bytes_between(own, peer, members));
      const auto received = static_cast<std::size_t>(matrix.bytes_between(peer, own, members));
      ncclResult_t result = ncclSuccess;
      if (sent > 0) result = ncclSend(from, sent, ncclUint8, peer, seat.communicator, stream);
      if (result == ncclSuccess && received > 0)
        result = ncclRecv(to, received, ncclUint8, peer, seat.communicator, stream);
      if (result != ncclSuccess) return result;
      from += sent;
      to += received;
    }
    return ncclSuccess;
  });
}

void NcclSet::all_reduce(const NcclSeat& seat, const Op& op, void* values, std::size_t count, ncclDataType_t type,
                         cuda::Stream stream) {
  if (seat.communicator == nullptr) return;  // the sum over one rank
  call(op, [&] { return ncclAllReduce(values, values, count, type, ncclSum, seat.communicator, stream); });
}

void NcclSet::reduce_scatter(const NcclSeat& seat, const Op& op, void* values, std::size_t bytes, cuda::Stream stream) {
  if (seat.communicator == nullptr) return;
  const ncclDataType_t type = type_of(op.dtype);
  const std::size_t chunk = bytes / static_cast<std::size_t>(seat.members());
  char* const own = static_cast<char*>(values) + static_cast<std::size_t>(seat.seat.position) * chunk;
  call(op, [&] {
    return ncclReduceScatter(values, own, chunk / bytes_of(type), type, ncclSum, seat.communicator, stream);
  });
}

void NcclSet::all_gather(const NcclSeat& seat, const Op& op, void* values, std::size_t bytes, cuda::Stream stream) {
  if (seat.communicator == nullptr) return;
  const std::size_t chunk = bytes / static_cast<std::size_t>(seat.members());
  const char* const own = static_cast<char*>(values) + static_cast<std::size_t>(seat.seat.position) * chunk;
  call(op, [&] { return ncclAllGather(own, values, chunk, ncclUint8, seat.communicator, stream); });
}

// Vectors that do not divide by the ranks lose the rest, less than one element per rank.
void NcclSet::collective(const NcclSeat& seat, const Op& op, void* in, void* out, cuda::Stream stream) {
  const auto bytes = static_cast<std::size_t>(op.bytes_of_set(seat.seat.set));
  const auto members = static_cast<std::size_t>(seat.members());
  const ncclDataType_t type = type_of(op.dtype);
  const ncclComm_t communicator = seat.communicator;
  if (communicator == nullptr) return;
  const int next = (seat.seat.position + 1) % seat.members();
  const int before = (seat.seat.position + seat.members() - 1) % seat.members();
  switch (*collective_kind(op.op_class)) {
    case CollectiveKind::all_reduce:
      return all_reduce(seat, op, in, bytes / bytes_of(type), type, stream);
    case CollectiveKind::reduce_scatter:
      return call(op, [&] {
        return ncclReduceScatter(in, out, bytes / bytes_of(type) / members, type, ncclSum, communicator, stream);
      });
    case CollectiveKind::all_gather:
      return call(op, [&] { return ncclAllGather(in, out, bytes / members, ncclUint8, communicator, stream); });
    case CollectiveKind::broadcast:
      return call(op, [&] { return ncclBroadcast(in, out, bytes, ncclUint8, 0, communicator, stream); });
    case CollectiveKind::send_recv:
      return call(op, [&] {
        const ncclResult_t sent = ncclSend(in, bytes, ncclUint8, next, communicator, stream);
        return sent != ncclSuccess ? sent : ncclRecv(out, bytes, ncclUint8, before, communicator, stream);
      });
    case CollectiveKind::all_to_all:
      break;
  }
}

std::string NcclSet::fault() const {
  const std::lock_guard lock(mutex_);
  if (aborted_) return {};
  for (const auto& [key, communicator] : communicators_) {
    ncclResult_t result = ncclSuccess;
    if (ncclCommGetAsyncError(communicator, &result) != ncclSuccess) continue;
    if (result != ncclSuccess && result != ncclInProgress) return "group '" + key.second + "': " + result_text(result);
  }
  return {};
}

void NcclSet::abort() {
  {
    const std::lock_guard lock(mutex_);
    if (aborted_) return;
    aborted_ = true;
  }
  const double deadline = monotonic_seconds() + kCallPatience;
  for (bool busy = true; busy && monotonic_seconds() < deadline; sleep_until(monotonic_seconds() + 0.001)) {
    const std::lock_guard lock(mutex_);
    busy = in_call_;
  }
  for (const auto& [key, communicator] : communicators_) ncclCommAbort(communicator);
}

}  // namespace shardsim
