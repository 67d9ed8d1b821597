#pragma once

#include <utility>
#include <vector>

namespace shardsim {

// Times of operations of known size, and what follows for others from two assumptions: a larger operation takes no
// less time, and s times the work takes no more than s times the time (s >= 1). Both together bound every size from
// above and from below:
//   upper = min over the points of t_i max(1, a / a_i, b / b_i),  lower = max of t_i min(1, a / a_i, b / b_i),
// and the answer is their geometric mean: the measured time at a measured size, never falling in a or b. Beyond the
// largest size of either axis the nearest size inside is scaled up by the quotient: the rate at the edge.
class MeasuredCurve {
 public:
  struct Point {
    double a = 0, b = 0;  // sizes above 0, say bytes and lookups
    double seconds = 0;
  };
  explicit MeasuredCurve(std::vector<Point> points) : points_(std::move(points)) {}
  bool empty() const { return points_.empty(); }
  double at(double a, double b) const;  // a curve that is not empty

 private:
  double inside(double a, double b) const;
  std::vector<Point> points_;
};

}  // namespace shardsim
