#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "study/sweep/point_result.h"

namespace shardsim {

// The task of a member of a crew: it simulates one point and gives its PointResult, packed.
using PointTask = std::function<std::string(std::uint32_t point)>;

// Processes that simulate points for this one, wherever they run. Members have numbers from 0.
class Crew {
 public:
  // The message of a member.
  struct Answer {
    int member = 0;
    bool gone = false;    // it ended; `bytes` says how
    std::string bytes{};  // a packed PointResult
  };
  virtual ~Crew() = default;  // ends the members
  virtual int size() const = 0;
  // A member does what it is given in order.
  virtual void give(int member, std::uint32_t point) = 0;
  // The next answer of any member; nothing when none came within a tenth of a second.
  virtual std::optional<Answer> next() = 0;
  // Another one in the place of a member that is gone; false where there can be none.
  virtual bool replace(int member) = 0;
};

// Forked processes of this machine.
std::unique_ptr<Crew> make_local_crew(int members, PointTask task);

// Who looks on.
struct CrewWatch {
  std::function<void(const PointResult&)> finished;  // takes each result as it comes
  std::function<void()> waiting = {};                // called at least ten times a second or so; may throw
};

// Points of one number have most of their work in common (PointCases::group_of()).
using PointGroups = std::function<std::uint64_t(std::uint32_t point)>;

// Hands out the points as members become free: the groups in the order of their numbers, and to each member the points
// of its own group before those of another one. Each member also gets a second point in advance, so that it can
// continue at once. If a member dies at a point, another one tries this point once more; if it dies, too, the result of
// the point says so. Errors: Failure::run when no member is left; what `watch` throws.
void hand_out(
    Crew& crew, const std::vector<std::uint32_t>& points, const CrewWatch& watch,
    const PointGroups& group_of = [](std::uint32_t) { return std::uint64_t{0}; });

}  // namespace shardsim
