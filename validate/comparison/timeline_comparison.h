#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "program/timeline/named_times.h"

namespace shardsim {

// A figure over the observed iterations, ms.
struct Spread {
  double min = 0, median = 0, max = 0;
  bool operator==(const Spread&) const = default;
};
Spread spread_of(std::vector<double> values);  // of none: zeros

// One time, predicted and observed.
struct ComparedTime {
  double predicted_ms = 0;
  Spread observed_ms;

  double off_ms() const;  // |predicted - observed median|
  // 100 (predicted - observed) / observed, above 0 where the prediction is too long; nothing where nothing was
  // observed.
  std::optional<double> error_pct() const { return error_against(observed_ms.median); }
  std::optional<double> error_against(double observed) const;
};

// The operations of one class, or of one name. Its time in an iteration is the sum of their durations on the slowest
// rank; a rank that waits inside a collective for the others is in it.
struct ComparedOperation {
  std::string name;  // of a class: the class
  std::string op_class;
  ComparedTime time;
  // The names on either side; both the same but where operations of one class had to be matched though none of their
  // names is on both sides.
  std::vector<std::string> predicted_names, observed_names;
  bool matched_by_class = false;
  double share = 0;  // of the iteration, the larger of predicted and observed
  // Of a collective, by how much the time differs in which no compute hides it, ms, mean over ranks; none of others.
  std::optional<double> exposed_off_ms = {};

  // By how much the operation may make iterations differ: a hidden collective that takes longer does not.
  double telling_ms() const { return exposed_off_ms.value_or(time.off_ms()); }
};

// An operation of one side that has no partner of its name or class on the other.
struct LoneOperation {
  std::string name, op_class;
  bool predicted = false;  // else observed
  double ms = 0;
  double share = 0;  // of its own side's iteration
};

// A collective whose exposed time is waiting to a telling part, on either side.
struct ComparedWait {
  NamedTime predicted, observed;
};

struct ComparedRank {
  int rank = 0;
  ComparedTime compute, comm, exposed, busy;  // busy: something running
  ComparedTime waiting;                       // of exposed: for members of a collective's group that arrive later
  std::optional<std::int64_t> predicted_bytes, observed_bytes;
  // Bytes that the rank sends and receives in an iteration, its own chunks excluded; of an observation the mean that
  // was counted (Timeline::bytes_out).
  struct Moved {
    std::int64_t predicted = 0, observed = 0;
    double error_pct()
        const;  // 100 (predicted - observed) / observed; of nothing but nothing 0, of nothing else infinite
  };
  std::optional<Moved> sent, received;
};

// The comparison of one case.
struct TimelineComparison {
  std::string case_name, observed_case;
  // The kind of either side, from its file: "predicted" or "observed"; of two that are the same "first" and "second".
  // The members below are called by the side on which they stand, the first being called predicted.
  std::string first = "predicted", second = "observed";
  int world_size = 0;
  int iterations = 0;  // observed ones that were used
  bool complete = true;
  Timeline::Measured measured;
  ComparedTime iteration;
  ComparedTime exposed;                       // of the rank with the most of it, in each iteration
  ComparedTime waiting;                       // of that rank's exposed time
  std::vector<ComparedOperation> classes;     // of those on both sides
  std::vector<ComparedOperation> operations;  // in order of the Program
  std::vector<LoneOperation> alone;
  std::vector<ComparedWait> waits;
  std::vector<ComparedRank> ranks;                              // those with spans on both sides
  std::optional<std::int64_t> predicted_bytes, observed_bytes;  // device memory, largest over ranks
  // A rank of many was observed, and the prediction is of one that stands alone and exchanges nothing: exchanges,
  // copies and waiting are in its dense part, as those of an imported trace are. Dense parts are not judged then.
  bool others_in_dense = false;
  std::vector<std::string> notes;

  // A prediction beside what was observed, and not two files of one kind.
  bool is_usual() const { return first == "predicted" && second == "observed"; }
};

// Whose Timelines they are, for messages.
struct ComparedPair {
  std::string case_name, observed_case;
  Place predicted, observed;
  std::vector<double> steps_ms = {};  // observed, by the marks of a profiler's steps; none: as long as their spans
};

// Neither side is asked which of them is real. The last iteration of an incomplete observation is left out, with a
// note. Errors (Failure::input, naming the file): no span, worlds of different size, no operation class on both sides.
TimelineComparison compare_timelines(const Timeline& predicted, const Timeline& observed, const ComparedPair& of);

}  // namespace shardsim
