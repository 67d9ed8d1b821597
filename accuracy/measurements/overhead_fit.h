#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "accuracy/measurements/judged_row.h"
#include "accuracy/measurements/read/measurements.h"
#include "models/collective/collective.h"
#include "topology/spec/cluster_spec.h"

namespace shardsim {

// Returns the rows of one system and collective that a calibration may use, by a rule that looks at nodes and sizes
// alone, never at times: at most `most` positions in `rows`, ascending. All rows are complete, with nodes and GPUs
// known.
//
// In the largest group (nodes x GPUs) the sizes nearest to: the smallest, `most` - 2 spread evenly in the logarithm
// from 4 to 32 MiB, the largest; where the smallest is 1 MiB or more, `most` spread evenly in the logarithm. With rows
// both in a node and across nodes each reach gets its half, spread from the smallest to the largest; across nodes one
// of them is the largest size of the smallest group, which shows what a single pair can do.
std::vector<std::size_t> rows_to_fit(const std::vector<MeasuredRow>& rows, int most);

// The constants of a kind within a node, or across nodes.
OverheadSpec& overheads_of(ClusterSpec& spec, CollectiveKind kind, bool across_nodes);
// Where they stand in the file: "overheads.all_reduce.in_node".
std::string reach_path(CollectiveKind kind, bool across_nodes);

// The numbers of a cluster file that a calibration may change: overheads and efficiencies, no rate and no width.

enum class CalibratedKey {
  start,
  per_remote_peer,
  fill,
  nvls_fill,
  latency_share,
  efficiency,
  nic_efficiency,
  channel_rate
};

// One number: where it stands in the file.
struct CalibratedNumber {
  CalibratedKey key = CalibratedKey::start;
  CollectiveKind kind = CollectiveKind::all_reduce;  // all but channel_rate
  bool across_nodes = false;

  bool is_shared() const { return key == CalibratedKey::channel_rate; }
  std::string path() const;  // "overheads.all_reduce.in_node.start", "p2p.channel_rate"
  bool operator==(const CalibratedNumber&) const = default;
};

// One fitted factor: the numbers that it scales in common, times the prior's values.
struct CalibratedParameter {
  std::vector<CalibratedNumber> numbers;
  double spread = 1;  // standard deviation of the prior, of the factor's logarithm
};

// In s, bytes/s or a plain factor.
double number_in(ClusterSpec spec, const CalibratedNumber& number);
std::string number_text(const CalibratedNumber& number, double value, int digits);  // as a file writes it
void set_number(ClusterSpec& spec, const CalibratedNumber& number, const std::string& text);

// The spec with each parameter's numbers times exp(logarithm), within what a file may say. A number that is 0 in the
// prior (a fill or start that nobody stated) starts from a small value instead.
ClusterSpec scaled(const ClusterSpec& prior, const std::vector<CalibratedParameter>& parameters,
                   const std::vector<double>& logarithms);

// The parameters that may explain rows of these kinds: start, fill, share of the latency and efficiency of each kind
// and reach; the rate of a channel is common to all. There is a cost per peer only where the rows differ in their
// peers.
std::vector<CalibratedParameter> parameters_of(const std::vector<MeasuredRow>& rows, const ClusterSpec& spec);

// True when NCCL's own model times the kind: then `start` adds to its latency, else it holds the latency too.
bool timed_by_nccl(CollectiveKind kind, const ClusterSpec& spec);

// The launch overhead moved into every start that it is added to, so that starts can be told apart; and the part that
// all of them have in common, at most `most`, moved back. Predictions stay what they are.
ClusterSpec with_launch_in_starts(ClusterSpec spec);
ClusterSpec with_common_launch(ClusterSpec spec, Seconds most);

// The numbers that a fit may change: all, or efficiencies alone, which large calls show and small ones hardly feel.
enum class FitScope { all, rates };

struct OverheadFit {
  ClusterSpec spec;                       // with the fitted numbers, rounded as a file writes them
  std::vector<CalibratedNumber> changed;  // those that the rows moved
};

// The most likely values of the parameters of parameters_of(): those that minimise the sum of (ln(predicted / measured)
// / 5 %)^2 over the rows and of (ln(value / prior's value) / spread)^2 over the values. `prior` has its launch overhead
// in its starts. A cost per peer that `prior` does not have stays at none unless the rows prove it: fits to the rows of
// all numbers of peers but one, each in turn, must predict those of that one better with such a cost than without.
OverheadFit fit_overheads(const ClusterSpec& prior, const std::vector<MeasuredRow>& rows,
                          FitScope scope = FitScope::all);

}  // namespace shardsim
