#pragma once

#include <optional>
#include <string>

#include "accuracy/measurements/read/measurements.h"
#include "cli/arguments/arguments.h"
#include "topology/graph/cluster.h"

namespace shardsim {

// Functions that the commands for showing, making and querying clusters share.

// The cluster of that name or file at `place`, with --nodes, --fits and --set, and its fits applied.
Cluster asked_cluster(const std::string& name, const Place& place, const Arguments& given);
Option nodes_option();
Option cluster_set_option();

// The text that `cluster show` prints: summary, tiers with their widths, the matrix of path classes, the rates of each
// GPU's ports, NCCL's channels, the facts that the file leaves open, every value that states its source (fitted ones
// marked), and the notes that qualify times on it.
std::string cluster_text(const Cluster& cluster);
std::string brief_cluster_text(const Cluster& cluster);  // of it, what a screen has room for

// Writes a cluster file as deliver() does. It must read back as what was found, and make a cluster first.
// Errors (Failure::run): it does not.
void deliver_cluster(const ClusterSpec& spec, const Arguments& given);

// Options of measured collectives and what they say; the notes of the reader on stderr, a line each.
std::vector<Option> measurement_options();  // --measurements, --system, --kind
RunHints measurement_hints(const Arguments& given);
// Errors: a hint that no row has taken, for tables say these things themselves. A note where some rows have not.
void require_used_hints(const RunHints& hints, const std::vector<MeasuredRow>& rows);
void print_notes(const Measurements& measurements);

}  // namespace shardsim
