#pragma once

#include <string>
#include <vector>

#include "sim/program/program.h"

namespace shardsim {

// Streams of a lowered Program (docs/lowering.md, "Groups and streams"): compute, one per kind of group, as PyTorch
// keeps one per process group, and with a full exchange of input those that TorchRec's pipelines have besides.
enum class Stream { compute, world, node, cross, memcpy, data_dist, prefetch, host };

std::string stream_name(Stream stream);

// What an operation is for: its role, from which its class follows, and the fusion group that it works for (-1: all of
// them, or none).
struct Purpose {
  OpRole role = OpRole::none;
  int fusion = -1;
};

// Appends operations to a Program, in launch order.
class OpList {
 public:
  // `overlap` false: everything goes on one stream.
  OpList(Program& program, std::vector<Stream> streams, bool overlap);

  // Ids below 0 in `after` are left out: there was nothing to wait for. A stream that the Program lacks is `compute`.
  int add(const std::string& name, Purpose purpose, Stream stream, std::vector<int> after);

  // A pass over bytes of device memory, the same on all ranks or one number each.
  int add_pass(const std::string& name, Purpose purpose, Stream stream, std::vector<double> hbm_bytes,
               std::vector<int> after);

  // A collective on its group's stream. -1, and nothing added: the group has one member, or there is nothing to move.
  int add_exchange(const std::string& name, Purpose purpose, const std::string& group, MatrixUse matrix,
                   const std::string& dtype, std::vector<int> after);
  int add_reduction(const std::string& name, Purpose purpose, const std::string& group,
                    const std::vector<std::int64_t>& bytes_by_set, const std::string& dtype, std::vector<int> after);

  Op& op(int id) { return program_.ops[id]; }
  Program& program() { return program_; }
  int last_compute() const;  // last operation that is no collective

 private:
  static Stream stream_of(const std::string& group);

  Program& program_;
  std::vector<Stream> streams_;  // index in Program::streams, where they overlap
};

}  // namespace shardsim
