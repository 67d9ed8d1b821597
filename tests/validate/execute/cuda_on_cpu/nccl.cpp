#include <fcntl.h>
#include <linux/futex.h>
#include <nccl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <climits>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/validate/execute/cuda_on_cpu/faults.h"
#include "tests/validate/execute/cuda_on_cpu/streams.h"

using shardsim::on_cpu::Faults;
using shardsim::on_cpu::faults;

namespace {

// A bell for each position of a communicator, in memory that its ranks share: rung for whoever waits for a message to
// that position. Ranks that looked for their messages every 200 us spent more time asleep and awake than at anything
// else.
class Bells {
 public:
  Bells(const std::string& file, std::size_t count) {
    const int opened = open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    const std::size_t bytes = count * sizeof(Bell);
    void* const shared = opened >= 0 && ftruncate(opened, static_cast<off_t>(bytes)) == 0
                             ? mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, opened, 0)
                             : MAP_FAILED;
    if (opened >= 0) close(opened);
    if (shared != MAP_FAILED) bells_ = static_cast<Bell*>(shared);
  }
  bool shared() const { return bells_ != nullptr; }

  void ring(int position) {
    ++bells_[position];
    syscall(SYS_futex, &bells_[position], FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
  }
  // Sleeps until what this position waits for is there, and looks for it whenever its bell rings.
  template <typename Condition>
  void wait(int position, const Condition& there) {
    while (true) {
      const std::uint32_t rung = bells_[position];
      if (there()) return;
      syscall(SYS_futex, &bells_[position], FUTEX_WAIT, rung, nullptr, nullptr,
              0);  // returns at once if it has rung since
    }
  }

 private:
  using Bell = std::atomic<std::uint32_t>;
  static_assert(sizeof(Bell) == sizeof(std::uint32_t) && Bell::is_always_lock_free);
  Bell* bells_ = nullptr;  // never unmapped: a thread of a stream may still wait
};

}  // namespace

// One rank's end of a communicator: how many messages went to and came from each position. Never freed: a thread of a
// stream may still look at it.
struct ncclComm {
  ncclComm(std::string of_all, int count, int own)
      : folder(std::move(of_all)),
        members(count),
        position(own),
        sent(static_cast<std::size_t>(count)),
        received(static_cast<std::size_t>(count)),
        bells(folder + "/bells", static_cast<std::size_t>(count)) {}

  std::string folder;
  int members, position;
  std::vector<long> sent, received;
  Bells bells;
  std::atomic<bool> aborted = false;
  std::atomic<int> under_way = 0;  // collectives launched and not ended
  std::atomic<ncclResult_t> result = ncclSuccess;
};

namespace {

constexpr unsigned kPoll = 200;  // us, where a communicator is given up

struct Call {
  ncclComm_t communicator;
  int peer;
  const void* from;  // null: receives
  void* to;
  std::size_t bytes;
};

// The calls of the group that is open in this thread.
struct OpenGroup {
  std::vector<Call> calls;
  cudaStream_t stream = nullptr;
};
OpenGroup& group() {
  thread_local OpenGroup of_thread;
  return of_thread;
}

std::string name(const ncclComm& communicator, int from, int to, long number) {
  return communicator.folder + "/" + std::to_string(from) + "-" + std::to_string(to) + "-" + std::to_string(number);
}

void send(ncclComm& own, const void* data, std::size_t bytes, int peer) {
  const std::string file = name(own, own.position, peer, own.sent[static_cast<std::size_t>(peer)]++);
  std::ofstream(file + "~").write(static_cast<const char*>(data), static_cast<std::streamsize>(bytes));
  std::rename((file + "~").c_str(), file.c_str());
  own.bells.ring(peer);
}

// Waits for ever, as a kernel of NCCL does, unless the communicator is aborted. Errors: a message of another size,
// which NCCL would not survive either.
void receive(ncclComm& own, void* data, std::size_t bytes, int peer) {
  const std::string file = name(own, peer, own.position, own.received[static_cast<std::size_t>(peer)]++);
  own.bells.wait(own.position, [&own, &file] { return own.aborted || access(file.c_str(), R_OK) == 0; });
  if (own.aborted) return;
  std::ifstream in(file);
  in.read(static_cast<char*>(data), static_cast<std::streamsize>(bytes));
  const bool whole = static_cast<std::size_t>(in.gcount()) == bytes && in.peek() == std::ifstream::traits_type::eof();
  std::remove(file.c_str());
  if (!whole) own.result = ncclInvalidUsage;
}

// The sum over all positions of what each sends to this one.
void add_up(ncclComm& own, float* out, std::size_t count) {
  std::vector<float> total(count, 0.0F), part(count);
  for (int peer = 0; peer < own.members; ++peer) {
    receive(own, part.data(), count * sizeof(float), peer);
    for (std::size_t i = 0; i < count; ++i) total[i] += part[i];
  }
  std::memcpy(out, total.data(), count * sizeof(float));
}

// As NCCL logs for NCCL_DEBUG=INFO, where STAND_IN_NCCL_LOG is set, too: without it this is a version that says nothing
// of its choices.
void log_line(const std::string& text) {
  const char* const level = std::getenv("NCCL_DEBUG");
  const char* const file = std::getenv("NCCL_DEBUG_FILE");
  if (std::getenv("STAND_IN_NCCL_LOG") == nullptr || level == nullptr || std::string(level) != "INFO") return;
  if (file != nullptr) std::ofstream(file, std::ios::app) << "stand-in:1:1 [0] NCCL INFO " << text << "\n";
}

void die() {
  raise(SIGKILL);
}

// A collective on its stream: what it sends, then what it waits for.
ncclResult_t launch(ncclComm& own, cudaStream_t stream, std::function<void()> sends, std::function<void()> receives) {
  static int launched = 0;
  const int number = launched++;
  const bool fatal = number == faults().dies_at;
  if (fatal && faults().when == Faults::When::before) die();
  if (number == faults().hangs_at) {
    own.bells.wait(own.position, [&own] { return own.aborted.load(); });
    return ncclSystemError;
  }
  ++own.under_way;
  shardsim::on_cpu::enqueue(stream, [&own, number, fatal, sends = std::move(sends), receives = std::move(receives)] {
    if (!own.aborted) sends();
    if (fatal && faults().when == Faults::When::in) die();
    receives();
    if (fatal) die();
    if (number == faults().breaks_at) own.result = ncclSystemError;
    --own.under_way;
  });
  return ncclSuccess;
}

}  // namespace

ncclResult_t ncclGetVersion(int* version) {
  *version = 23000;  // from here on ranks may share a GPU
  return ncclSuccess;
}
const char* ncclGetErrorString(ncclResult_t) {
  return "an error of the stand-in for NCCL";
}
const char* ncclGetLastError(ncclComm_t) {
  return "";
}

ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
  const char* const folder = std::getenv("TMPDIR");
  std::snprintf(id->internal, sizeof(id->internal), "%s/commXXXXXX", folder == nullptr ? "/tmp" : folder);
  return mkdtemp(id->internal) == nullptr ? ncclSystemError : ncclSuccess;
}
ncclResult_t ncclCommInitRankConfig(ncclComm_t* communicator, int members, ncclUniqueId id, int position,
                                    ncclConfig_t*) {
  static std::vector<std::unique_ptr<ncclComm>> all;
  auto made = std::make_unique<ncclComm>(id.internal, members, position);
  if (!made->bells.shared()) return ncclSystemError;
  *communicator = made.get();
  log_line("2 coll channels, 0 collnet channels, 0 nvls channels, 4 p2p channels, 2 p2p channels per peer");
  all.push_back(std::move(made));
  return ncclSuccess;
}
// A fault that breaks the GPU breaks NCCL, too.
ncclResult_t ncclCommGetAsyncError(ncclComm_t communicator, ncclResult_t* result) {
  *result = shardsim::on_cpu::broken() == cudaSuccess ? communicator->result.load() : ncclSystemError;
  return ncclSuccess;
}
// Returns when the kernels of this communicator have ended, and they may stand behind those of another.
ncclResult_t ncclCommAbort(ncclComm_t communicator) {
  communicator->aborted = true;
  communicator->bells.ring(communicator->position);
  while (faults().abort_hangs) usleep(kPoll);
  while (communicator->under_way > 0 && shardsim::on_cpu::broken() == cudaSuccess) usleep(kPoll);
  return ncclSuccess;
}

ncclResult_t ncclGroupStart() {
  return ncclSuccess;
}
ncclResult_t ncclGroupEnd() {
  const OpenGroup all = std::move(group());
  group() = {};
  if (all.calls.empty()) return ncclSuccess;
  ncclComm& own = *all.calls.front().communicator;
  const auto each = [&own, calls = all.calls](bool sending) {
    for (const Call& call : calls) {
      if (sending && call.from != nullptr) send(own, call.from, call.bytes, call.peer);
      if (!sending && call.from == nullptr) receive(own, call.to, call.bytes, call.peer);
    }
  };
  return launch(
      own, all.stream, [each] { each(true); }, [each] { each(false); });
}
ncclResult_t ncclSend(const void* data, std::size_t count, ncclDataType_t, int peer, ncclComm_t communicator,
                      cudaStream_t stream) {
  group().calls.push_back({communicator, peer, data, nullptr, count});
  group().stream = stream;
  return ncclSuccess;
}
ncclResult_t ncclRecv(void* data, std::size_t count, ncclDataType_t, int peer, ncclComm_t communicator,
                      cudaStream_t stream) {
  group().calls.push_back({communicator, peer, nullptr, data, count});
  group().stream = stream;
  return ncclSuccess;
}

ncclResult_t ncclAllReduce(const void* in, void* out, std::size_t count, ncclDataType_t type, ncclRedOp_t,
                           ncclComm_t communicator, cudaStream_t stream) {
  if (type != ncclFloat) return ncclInvalidUsage;
  ncclComm& own = *communicator;
  if (own.position == 0)
    log_line("AllReduce: " + std::to_string(count * sizeof(float)) + " Bytes -> Algo RING proto " +
             (count < 10'000 ? "LL channel{Lo..Hi}={0..0}" : "SIMPLE channel{Lo..Hi}={0..1}"));
  const auto send_all = [&own, in, count] {
    for (int peer = 0; peer < own.members; ++peer) send(own, in, count * sizeof(float), peer);
  };
  return launch(own, stream, send_all, [&own, out, count] { add_up(own, static_cast<float*>(out), count); });
}
ncclResult_t ncclReduceScatter(const void* in, void* out, std::size_t received, ncclDataType_t type, ncclRedOp_t,
                               ncclComm_t communicator, cudaStream_t stream) {
  if (type != ncclFloat) return ncclInvalidUsage;
  ncclComm& own = *communicator;
  const auto send_chunks = [&own, in, received] {
    for (int peer = 0; peer < own.members; ++peer) {
      send(own, static_cast<const float*>(in) + static_cast<std::size_t>(peer) * received, received * sizeof(float),
           peer);
    }
  };
  return launch(own, stream, send_chunks, [&own, out, received] { add_up(own, static_cast<float*>(out), received); });
}
ncclResult_t ncclAllGather(const void* in, void* out, std::size_t sent, ncclDataType_t type, ncclComm_t communicator,
                           cudaStream_t stream) {
  const std::size_t bytes = sent * (type == ncclUint8 ? 1 : type == ncclFloat ? 4 : 2);
  ncclComm& own = *communicator;
  const auto send_all = [&own, in, bytes] {
    for (int peer = 0; peer < own.members; ++peer) send(own, in, bytes, peer);
  };
  return launch(own, stream, send_all, [&own, out, bytes] {
    for (int peer = 0; peer < own.members; ++peer) {
      receive(own, static_cast<char*>(out) + static_cast<std::size_t>(peer) * bytes, bytes, peer);
    }
  });
}
ncclResult_t ncclBroadcast(const void*, void*, std::size_t, ncclDataType_t, int, ncclComm_t, cudaStream_t) {
  return ncclInvalidUsage;  // no Program lowered from a plan has one
}
