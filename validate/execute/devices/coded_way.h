#pragma once

#include "validate/execute/buffers/lookup_buffers.h"
#include "validate/execute/devices/device_port.h"

namespace shardsim {

// The way of a fusion's vectors from the ranks that look them up to those that asked, or of their gradients back, where
// codecs convert them: what is on the wire has buffers of its own, in the types of the wire. `served`, `asked`: the
// kernels' memory at either end, elements of `type`; where nothing is exchanged behind a sum, what is asked for is the
// own chunk of what is served. All steps of one way run one after the other.
class CodedWay {
 public:
  // `most`: what the largest Program has. Counts its buffers into `bytes`.
  CodedWay(DevicePort& device, const LookupBuffers::Coded& most, ElementType type, bool sums, bool exchanges,
           std::int64_t& bytes);

  struct Ends {
    DeviceMemory served, asked;
  };

  // Forward, in this order.
  void encode_served(const LookupBuffers::Coded& of, const Ends& ends, int stream);
  void sum(const Op& op, std::int64_t bytes);
  void recode_sums(const LookupBuffers::Coded& of, const Ends& ends, int stream);
  void send(const Op& op);
  void decode_asked(const LookupBuffers::Coded& of, const Ends& ends, int stream);

  // Backward, in this order.
  void encode_asked(const LookupBuffers::Coded& of, const Ends& ends, int stream);
  void send_back(const Op& op);
  void recode_chunk(const LookupBuffers::Coded& of, const Ends& ends, int stream);
  void gather(const Op& op, std::int64_t bytes) { sum(op, bytes); }
  void decode_served(const LookupBuffers::Coded& of, const Ends& ends, int stream);

 private:
  // The type of the chunks: that of the sum where there is one.
  Dtype served_type(const LookupBuffers::Coded& of) const { return sums_ ? of.sum : of.exchange; }
  std::byte* own_chunk(const LookupBuffers::Coded& of) const;                      // on the wire
  std::byte* own_numbers(const LookupBuffers::Coded& of, const Ends& ends) const;  // in the kernels' memory
  const DeviceMemory& at_owner() const { return sums_ ? sums_sent_ : served_; }

  DevicePort& device_;
  ElementType type_;
  bool sums_, exchanges_;
  DeviceMemory served_, sums_sent_, asked_;  // on the wire
};

}  // namespace shardsim
