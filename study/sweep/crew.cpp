#include "study/sweep/crew.h"

#include <algorithm>
#include <deque>
#include <map>

#include "base/error.h"
#include "base/packed.h"

namespace shardsim {
namespace {

// A member works on one point and has another one to go on with, so that it never waits for this process.
constexpr std::size_t kHeldPoints = 2;
constexpr int kMostDeaths = 2;  // of members at one point

using MemberGroups = std::vector<std::optional<std::uint64_t>>;  // by member

// Points that nobody was given yet, by group and in order.
class WaitingPoints {
 public:
  WaitingPoints(const std::vector<std::uint32_t>& points, const PointGroups& group_of)
      : group_of_(group_of), size_(points.size()) {
    for (const std::uint32_t point : points) groups_[group_of_(point)].push_back(point);
  }

  bool empty() const { return size_ == 0; }
  std::size_t size() const { return size_; }

  // Takes a point for a member: of its own group, else of the first one that no member works on, else of the first.
  std::uint32_t take(MemberGroups& members, std::size_t member) {
    auto group = members[member] ? groups_.find(*members[member]) : groups_.end();
    if (group == groups_.end())
      group = std::ranges::find_if(
          groups_, [&](const auto& each) { return std::ranges::find(members, each.first) == members.end(); });
    if (group == groups_.end()) group = groups_.begin();
    members[member] = group->first;
    const std::uint32_t point = group->second.front();
    group->second.pop_front();
    if (group->second.empty()) groups_.erase(group);
    --size_;
    return point;
  }

  void put_back(const std::deque<std::uint32_t>& points) {
    for (auto point = points.rbegin(); point != points.rend(); ++point) groups_[group_of_(*point)].push_front(*point);
    size_ += points.size();
  }

 private:
  const PointGroups& group_of_;
  std::size_t size_;
  std::map<std::uint64_t, std::deque<std::uint32_t>> groups_;
};

class HandOut {
 public:
  HandOut(Crew& crew, const std::vector<std::uint32_t>& points, const CrewWatch& watch, const PointGroups& group_of)
      : crew_(crew),
        watch_(watch),
        waiting_(points, group_of),
        held_(static_cast<std::size_t>(crew.size())),
        groups_(held_.size()),
        gone_(held_.size()) {}

  void run() {
    for (std::size_t round = 0; round < kHeldPoints; ++round) {
      for (int member = 0; member < crew_.size(); ++member) top_up(member, round + 1);
    }
    while (std::ranges::any_of(held_, [](const auto& points) { return !points.empty(); })) {
      if (watch_.waiting) watch_.waiting();
      const std::optional<Crew::Answer> answer = crew_.next();
      if (!answer) continue;
      answer->gone ? bury(answer->member, answer->bytes) : take(answer->member, answer->bytes);
    }
    if (!waiting_.empty()) throw run_error("no process is left that simulates points: " + last_words_, "Run it again");
  }

 private:
  void top_up(int member, std::size_t to) {
    if (gone_[static_cast<std::size_t>(member)]) return;
    std::deque<std::uint32_t>& held = held_[static_cast<std::size_t>(member)];
    // At the end nobody keeps a second point that another one could begin.
    const std::size_t most = waiting_.size() < held_.size() ? 1 : to;
    while (held.size() < most && !waiting_.empty()) {
      held.push_back(waiting_.take(groups_, static_cast<std::size_t>(member)));
      crew_.give(member, held.back());
    }
  }

  void take(int member, const std::string& bytes) {
    std::deque<std::uint32_t>& held = held_[static_cast<std::size_t>(member)];
    const PointResult result = unpacked<PointResult>(bytes);
    if (held.empty() || held.front() != result.point)
      throw run_error("a worker process sent an answer that was not expected", "Please report this as a bug");
    held.pop_front();
    top_up(member, kHeldPoints);
    watch_.finished(result);
  }

  void bury(int member, const std::string& how) {
    std::deque<std::uint32_t> held;
    std::swap(held, held_[static_cast<std::size_t>(member)]);
    last_words_ = how;
    if (!held.empty() && ++deaths_[held.front()] >= kMostDeaths) {
      PointResult result;
      result.point = held.front();
      result.outcome = PointResult::Outcome::died;
      result.message = "the process that simulated it died (" + how + ")";
      held.pop_front();
      watch_.finished(result);
    }
    groups_[static_cast<std::size_t>(member)].reset();
    waiting_.put_back(held);
    gone_[static_cast<std::size_t>(member)] = !crew_.replace(member);
    for (int each = 0; each < crew_.size(); ++each) top_up(each, kHeldPoints);
  }

  Crew& crew_;
  const CrewWatch& watch_;
  WaitingPoints waiting_;
  std::vector<std::deque<std::uint32_t>> held_;  // by member, what it was given and has not answered
  MemberGroups groups_;                          // of what each was given last
  std::vector<bool> gone_;                       // by member
  std::map<std::uint32_t, int> deaths_;          // by point
  std::string last_words_;
};

}  // namespace

void hand_out(Crew& crew, const std::vector<std::uint32_t>& points, const CrewWatch& watch,
              const PointGroups& group_of) {
  HandOut(crew, points, watch, group_of).run();
}

}  // namespace shardsim
