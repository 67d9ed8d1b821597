#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string_view>

#include "models/access/access_distribution.h"

namespace shardsim {

// The families of access distributions, one file each. To add one: its file, its factory here, its row in all.cpp, its
// keys in access_reader.cpp.

using FamilyPointer = std::shared_ptr<const AccessDistribution::Family>;

// What every factory gets; `place` is for its errors (Failure::input), which report parameters outside their range.
struct FamilyInput {
  const AccessSpec& spec;
  std::uint64_t rows;
  const Place& place;
};

struct FamilyEntry {
  std::string_view name;
  FamilyPointer (*make)(const FamilyInput&);
};

std::span<const FamilyEntry> access_families();  // alphabetical

FamilyPointer make_uniform(const FamilyInput& input);
FamilyPointer make_zipf(const FamilyInput& input);
FamilyPointer make_zipf_mandelbrot(const FamilyInput& input);
FamilyPointer make_piecewise_power_law(const FamilyInput& input);
FamilyPointer make_log_normal(const FamilyInput& input);
FamilyPointer make_explicit(const FamilyInput& input);

// Unknown name: an input error listing the known ones.
FamilyPointer make_family(const FamilyInput& input);

}  // namespace shardsim
