#pragma once

#include <nccl.h>

#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "models/collective/byte_matrix.h"
#include "program/program.h"
#include "validate/execute/fusion/iteration_programs.h"
#include "validate/execute/fusion/rank_rows.h"
#include "validate/execute/kernels/cuda_memory.h"
#include "validate/execute/meet/rendezvous.h"

namespace shardsim {

// The communicators of one rank: one per stream and group, so that collectives of different streams can overlap.
// A failure of one of them is noticed by fault(); abort() ends what is under way on the GPU and every later call
// throws. Not sooner: the kernels that wait for a lost peer harm nobody while what was measured is saved.
class NcclSet {
 public:
  // Collective over the rendezvous. The Programs must outlive it. Errors: Failure::run when NCCL says so, or when a
  // peer does not come within `limit_s` seconds or the run fails meanwhile; the rendezvous knows of it before what was
  // connected is aborted.
  NcclSet(const IterationPrograms& programs, Rendezvous& rendezvous, double limit_s = 60);
  ~NcclSet();
  NcclSet(const NcclSet&) = delete;
  NcclSet& operator=(const NcclSet&) = delete;

  static std::string version();  // "2.28.9"
  static bool shares_gpus();     // several ranks on one GPU: NCCL 2.30 or newer

  // As DevicePort::collective, on `stream`; `op` is one of the Programs' own. Errors: Failure::run naming the
  // operation.
  void collective(const Op& op, const void* in, void* out, std::size_t bytes, cuda::Stream stream);

  std::string fault() const;  // "" while all is well; from any thread
  // All at once, each in a thread of its own: the kernels of one may wait for those of another, and taking one away
  // waits for its kernels. From any thread, more than once; returns when all are gone, which a broken driver may keep
  // for ever (execute() has a watchdog for that).
  void abort();

 private:
  using Key = std::pair<int, std::string>;  // stream, group

  // This rank's part in one collective.
  struct Part {
    int members = 0, position = 0;
    ncclComm_t communicator = nullptr;  // null: the rank is alone in its rank set
    ByteMatrix matrix;                  // of an all_to_all
  };

  template <typename Calls>
  void call(const Op& op, const Calls& calls);
  void enter();
  void leave();
  void add_parts(const Program& program);
  void connect(const Key& key, const Program& program, Rendezvous& rendezvous, double limit_s);

  static ncclResult_t exchange(const Part& part, const char* in, char* out, cuda::Stream stream);
  static ncclResult_t launch(const Op& op, const Part& part, const void* in, void* out, std::size_t bytes,
                             cuda::Stream stream);

  int rank_ = 0, device_ = 0;
  std::map<Key, ncclComm_t> communicators_;
  // By operation of whichever Program, of collectives that this rank takes part in.
  std::map<const Op*, Part> parts_;
  mutable std::mutex mutex_;
  bool aborted_ = false, in_call_ = false;
};

}  // namespace shardsim
