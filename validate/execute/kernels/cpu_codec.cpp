#include "base/error.h"
#include "validate/execute/kernels/cpu_kernels.h"
#include "validate/execute/kernels/element.h"
#include "validate/execute/kernels/parallel.h"

namespace shardsim {
namespace {

template <typename From, typename To>
void convert(const void* from, std::int64_t count, void* to, int threads) {
  const auto* const source = static_cast<const From*>(from);
  auto* const target = static_cast<To*>(to);
  run_intervals(count, threads, [&](std::int64_t first, std::int64_t end) {
    for (std::int64_t i = first; i < end; ++i) target[i] = narrowed<To>(widened(source[i]));
  });
}

// `visit` with a number of the type of the memory; then with one of the wire, too.
template <typename Visit>
void with_element(ElementType type, const Visit& visit) {
  if (type == ElementType::fp32) return visit(float{});
  if (type == ElementType::fp16) return visit(Half{});
  visit(Brain{});
}

template <typename Visit>
void with_wire(Dtype wire, const Visit& visit) {
  switch (wire) {
    case Dtype::fp32:
      return visit(float{});
    case Dtype::fp16:
      return visit(Half{});
    case Dtype::bf16:
      return visit(Brain{});
    case Dtype::fp8:
      return visit(Eighth{});
    case Dtype::int8:
    case Dtype::mx4:
      break;
  }
  throw run_error("there is no codec of " + std::string(dtype_name(wire)), "");
}

}  // namespace

void encode_elements(ElementType type, const void* from, std::int64_t count, Dtype wire, void* to, int threads) {
  with_element(type, [&](auto element) {
    with_wire(wire, [&](auto sent) { convert<decltype(element), decltype(sent)>(from, count, to, threads); });
  });
}

void decode_elements(Dtype wire, const void* from, std::int64_t count, ElementType type, void* to, int threads) {
  with_element(type, [&](auto element) {
    with_wire(wire, [&](auto sent) { convert<decltype(sent), decltype(element)>(from, count, to, threads); });
  });
}

}  // namespace shardsim
