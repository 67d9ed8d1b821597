#include <fmt/format.h>

#include <algorithm>

#include "validate/execute/devices/machine.h"
#include "validate/execute/fusion/fusion.h"

namespace shardsim {
namespace {

constexpr std::int64_t kMostColumns = 12288;
constexpr std::size_t kMostShards = 65535;
constexpr double kLookups = 2147483648.0;  // 2^31
constexpr double kBags = 4294967296.0;     // 2^32

double most(const PerRank& values) {
  return *std::ranges::max_element(values.values);
}

class LookupLimits {
 public:
  LookupLimits(const Program& program, const ProgramPlaces& places, const Op& lookup)
      : program_(program), places_(places), lookup_(lookup) {}

  void check() const {
    for (const int index : lookup_.shards) {
      const Program::Shard& shard = program_.shard(index);
      const std::int64_t columns = shard.column_end - shard.column_begin;
      if (columns > kMostColumns) {
        fail(fmt::format("shard {} has {} columns, and the kernels take {}", index, columns, kMostColumns),
             "Cut the table by columns, or use --device cpu");
      }
    }
    const char* const smaller = "Use a smaller batch per GPU, or --device cpu";
    if (most(lookup_.lookups) >= kLookups) fail("a rank has 2^31 lookups or more", smaller);
    if (!lookup_.pooled) return;
    if (lookup_.shards.size() > kMostShards) {
      fail(fmt::format("it reads {} shards in one call, and the kernels take {}", lookup_.shards.size(), kMostShards),
           "Place the tables by several strategies, or use --device cpu");
    }
    if (most(lookup_.bags) >= kBags) fail("a rank has 2^32 bags or more", smaller);
  }

 private:
  [[noreturn]] void fail(const std::string& wrong, const std::string& remedy) const {
    throw input_error(op_place(places_, lookup_.id), fmt::format("{}: {}", op_text(lookup_), wrong), remedy);
  }

  const Program& program_;
  const ProgramPlaces& places_;
  const Op& lookup_;
};

}  // namespace

void check_gpu_limits(const Program& program, const ProgramPlaces& places) {
  for (const Op& op : program.ops) {
    if (op.op_class == OpClass::lookup) LookupLimits(program, places, op).check();
  }
}

}  // namespace shardsim
