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

// The result of the thread that connects. Shared, because a thread that hangs in NCCL outlives who waits for it.
struct Connection {
  ncclComm_t communicator = nullptr;
  ncclResult_t result = ncclSuccess;
  std::atomic<bool> done = false;
};

std::shared_ptr<Connection> start_connecting(int members, const ncclUniqueId& id, int position, int device) {
  const auto connection = std::make_shared<Connection>();
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

NcclSet::NcclSet(const IterationPrograms& programs, Rendezvous& rendezvous, double limit_s) : rank_(rendezvous.rank()) {
  const Program& program = programs.first();  // all have the same groups
  cuda::check(cudaGetDevice(&device_), "the current GPU");
  std::set<Key> keys;
  for (const Op& op : program.ops) {
    if (op.is_collective()) keys.insert({op.stream, op.group});
  }
  try {
    for (const Key& key : keys) connect(key, program, rendezvous, limit_s);
  } catch (const Error& error) {
    rendezvous.fail(error.what(), "connecting by NCCL");
    abort();
    throw;
  }
  for (std::size_t turn = 0; turn < programs.size(); ++turn) add_parts(programs[turn]);
}

void NcclSet::add_parts(const Program& program) {
  for (const Op& op : program.ops) {
    if (!op.is_collective() || !takes_part(program, op, rank_)) continue;
    const Seat seat = seat_of(program, op, rank_);
    const auto found = communicators_.find({op.stream, op.group});
    parts_[&op] = {static_cast<int>(seat.ranks.size()), seat.position,
                   found == communicators_.end() ? nullptr : found->second,
                   op.op_class == OpClass::all_to_all ? resolve_matrix(program, op.matrix, seat.set) : ByteMatrix{}};
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
  const auto connection = start_connecting(static_cast<int>(seat.ranks.size()),
                                           from_text(ids[seat.ranks.front()], doing), seat.position, device_);
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

ncclResult_t NcclSet::exchange(const Part& part, const char* in, char* out, cuda::Stream stream) {
  for (int peer = 0; peer < part.members; ++peer) {
    const auto sent = static_cast<std::size_t>(part.matrix.bytes_between(part.position, peer, part.members));
    const auto received = static_cast<std::size_t>(part.matrix.bytes_between(peer, part.position, part.members));
    ncclResult_t result = ncclSuccess;
    if (sent > 0) result = ncclSend(in, sent, ncclUint8, peer, part.communicator, stream);
    if (result == ncclSuccess && received > 0)
      result = ncclRecv(out, received, ncclUint8, peer, part.communicator, stream);
    if (result != ncclSuccess) return result;
    in += sent;
    out += received;
  }
  return ncclSuccess;
}

// Vectors that do not divide by the ranks lose the rest, less than one element per rank. What moves no bytes may have
// no memory.
ncclResult_t NcclSet::launch(const Op& op, const Part& part, const void* in, void* out, std::size_t bytes,
                             cuda::Stream stream) {
  const auto& [members, position, communicator, matrix] = part;
  const ncclDataType_t type = type_of(op.dtype);
  const std::size_t count = bytes / bytes_of(type), chunk = bytes / static_cast<std::size_t>(members);
  const std::size_t before = static_cast<std::size_t>(position) * chunk;
  char* const own = out == nullptr ? nullptr : static_cast<char*>(out) + before;
  switch (*collective_kind(op.op_class)) {
    case CollectiveKind::all_to_all:
      return exchange(part, static_cast<const char*>(in), static_cast<char*>(out), stream);
    case CollectiveKind::all_reduce:
      return ncclAllReduce(in, out, count, type, ncclSum, communicator, stream);
    case CollectiveKind::reduce_scatter:
      return ncclReduceScatter(in, own, chunk / bytes_of(type), type, ncclSum, communicator, stream);
    case CollectiveKind::all_gather:
      return ncclAllGather(own, out, chunk, ncclUint8, communicator, stream);
    case CollectiveKind::broadcast:
      return ncclBroadcast(in, out, bytes, ncclUint8, 0, communicator, stream);
    case CollectiveKind::send_recv:
      break;
  }
  const ncclResult_t sent = ncclSend(in, bytes, ncclUint8, (position + 1) % members, communicator, stream);
  if (sent != ncclSuccess) return sent;
  return ncclRecv(out, bytes, ncclUint8, (position + members - 1) % members, communicator, stream);
}

void NcclSet::collective(const Op& op, const void* in, void* out, std::size_t bytes, cuda::Stream stream) {
  const Part& part = parts_.at(&op);
  if (part.communicator != nullptr) return call(op, [&] { return launch(op, part, in, out, bytes, stream); });
  // Alone, a rank has its own chunk already, or copies it.
  if (op.op_class == OpClass::all_to_all) bytes = static_cast<std::size_t>(part.matrix.bytes_between(0, 0, 1));
  if (in != out) cuda::check(cudaMemcpyAsync(out, in, bytes, cudaMemcpyDeviceToDevice, stream), op.name);
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
  std::vector<std::jthread> ending;
  for (const auto& entry : communicators_) {
    ending.emplace_back([communicator = entry.second, device = device_] {
      cudaSetDevice(device);
      ncclCommAbort(communicator);
    });
  }
}

}  // namespace shardsim
