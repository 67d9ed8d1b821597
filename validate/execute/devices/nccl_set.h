#pragma once

#include <nccl.h>

#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "models/collective/byte_matrix.h"
#include "sim/program/program.h"
#include "validate/execute/fusion/rank_rows.h"
#include "validate/execute/kernels/cuda_memory.h"
#include "validate/execute/meet/rendezvous.h"

namespace shardsim {

// This rank's place in one collective, and the communicator for it (null: it is alone in its rank set).
struct NcclSeat {
  Seat seat;
  ncclComm_t communicator = nullptr;
  int members() const { return static_cast<int>(seat.ranks.size()); }
};

// The communicators of one rank: one per stream and group, so that collectives of different streams can overlap.
// A failure of one of them is noticed by fault(); abort() ends what is under way on the GPU and every later call
// throws.
class NcclSet {
 public:
  // Collective over the rendezvous. Errors: Failure::run when NCCL says so, or when a peer does not come within
  // `limit_s` seconds or the run fails meanwhile.
  NcclSet(const Program& program, Rendezvous& rendezvous, double limit_s = 60);
  ~NcclSet();
  NcclSet(const NcclSet&) = delete;
  NcclSet& operator=(const NcclSet&) = delete;

  NcclSeat seat(const Op& op) const;  // of an operation that this rank takes part in
  static std::string version();       // "2.28.9"
  static bool shares_gpus();          // several ranks on one GPU: NCCL 2.30 or newer

  // Buffers are of device memory, on `stream`; errors: Failure::run naming the operation.
  void all_to_all(const NcclSeat& seat, const Op& op, const ByteMatrix& matrix, const void* in, void* out,
                  cuda::Stream stream);
  void all_reduce(const NcclSeat& seat, const Op& op, void* values, std::size_t count, ncclDataType_t type,
                  cuda::Stream stream);
  // In place: the own chunk of `values` is left with the sum, or fills the others' chunks. `bytes`: of all chunks.
  void reduce_scatter(const NcclSeat& seat, const Op& op, void* values, std::size_t bytes, cuda::Stream stream);
  void all_gather(const NcclSeat& seat, const Op& op, void* values, std::size_t bytes, cuda::Stream stream);
  // The kinds of collective that carry no rows: as many bytes as the operation has.
  void collective(const NcclSeat& seat, const Op& op, void* in, void* out, cuda::Stream stream);

  std::string fault() const;  // "" while all is well; from any thread
  void abort();               // from any thread, more than once

 private:
  using Key = std::pair<int, std::string>;  // stream, group

  template <typename Calls>
  void call(const Op& op, const Calls& calls);
  void enter();
  void leave();
  void connect(const Key& key, const Program& program, Rendezvous& rendezvous, double limit_s);

  const Program& program_;
  int rank_ = 0;
  std::map<Key, ncclComm_t> communicators_;
  mutable std::mutex mutex_;
  bool aborted_ = false, in_call_ = false;
};

}  // namespace shardsim
