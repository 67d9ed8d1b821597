#include "validate/execute/devices/coded_way.h"

namespace shardsim {

CodedWay::CodedWay(DevicePort& device, const LookupBuffers::Coded& most, ElementType type, bool sums, bool exchanges,
                   std::int64_t& bytes)
    : device_(device), type_(type), sums_(sums), exchanges_(exchanges) {
  const auto reserve = [&](std::int64_t elements, Dtype wire) {
    DeviceMemory memory = device.memory(elements * dtype_bytes(wire), "vectors on the wire");
    bytes += memory.bytes();
    return memory;
  };
  served_ = reserve(most.served, served_type(most));
  if (sums && exchanges) sums_sent_ = reserve(most.own, most.exchange);
  if (exchanges) asked_ = reserve(most.returned, most.exchange);
}

std::byte* CodedWay::own_chunk(const LookupBuffers::Coded& of) const {
  return served_.at(of.own_first * dtype_bytes(served_type(of)));
}

std::byte* CodedWay::own_numbers(const LookupBuffers::Coded& of, const Ends& ends) const {
  return ends.served.at(of.own_first * element_bytes(type_));
}

void CodedWay::encode_served(const LookupBuffers::Coded& of, const Ends& ends, int stream) {
  device_.encode(type_, ends.served.as<void>(), of.served, served_type(of), served_.as<void>(), stream);
}

void CodedWay::sum(const Op& op, std::int64_t bytes) {
  device_.collective(op, served_.as<void>(), served_.as<void>(), bytes);
}

void CodedWay::recode_sums(const LookupBuffers::Coded& of, const Ends& ends, int stream) {
  device_.decode(of.sum, own_chunk(of), of.own, type_, own_numbers(of, ends), stream);
  device_.encode(type_, own_numbers(of, ends), of.own, of.exchange, sums_sent_.as<void>(), stream);
}

void CodedWay::send(const Op& op) {
  device_.collective(op, at_owner().as<void>(), asked_.as<void>(), 0);
}

void CodedWay::decode_asked(const LookupBuffers::Coded& of, const Ends& ends, int stream) {
  if (exchanges_) {
    device_.decode(of.exchange, asked_.as<void>(), of.returned, type_, ends.asked.as<void>(), stream);
  } else {
    device_.decode(of.sum, own_chunk(of), of.own, type_, own_numbers(of, ends), stream);
  }
}

void CodedWay::encode_asked(const LookupBuffers::Coded& of, const Ends& ends, int stream) {
  if (exchanges_) {
    device_.encode(type_, ends.asked.as<void>(), of.returned, of.exchange, asked_.as<void>(), stream);
  } else {
    device_.encode(type_, own_numbers(of, ends), of.own, of.sum, own_chunk(of), stream);
  }
}

void CodedWay::send_back(const Op& op) {
  device_.collective(op, asked_.as<void>(), at_owner().as<void>(), 0);
}

void CodedWay::recode_chunk(const LookupBuffers::Coded& of, const Ends& ends, int stream) {
  device_.decode(of.exchange, sums_sent_.as<void>(), of.own, type_, own_numbers(of, ends), stream);
  device_.encode(type_, own_numbers(of, ends), of.own, of.sum, own_chunk(of), stream);
}

void CodedWay::decode_served(const LookupBuffers::Coded& of, const Ends& ends, int stream) {
  device_.decode(served_type(of), served_.as<void>(), of.served, type_, ends.served.as<void>(), stream);
}

}  // namespace shardsim
