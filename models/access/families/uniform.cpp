#include "models/access/families/family.h"

namespace shardsim {
namespace {

class Uniform final : public AccessDistribution::Family {
 public:
  double probability(std::uint64_t) const override { return 1; }
  double prefix(std::uint64_t n) const override { return static_cast<double>(n); }
};

}  // namespace

FamilyPointer make_uniform(const FamilyInput&) {
  return std::make_shared<Uniform>();
}

}  // namespace shardsim
