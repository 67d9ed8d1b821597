#pragma once

#include <optional>

#include "base/fields/fields.h"

namespace shardsim {

// The SSDs of a node, which its GPUs share. The defaults are those of one drive, Samsung's PM9A3 (U.2, 2020), and a
// guess for any other node.
struct SsdSpec {
  Bandwidth read_bandwidth{6.5e9}, write_bandwidth{3.5e9};
  double iops = 900'000;
  std::optional<Bytes> capacity;
  bool operator==(const SsdSpec&) const = default;

  void keys(Fields& map) {
    map.usual("6.5 GB/s").take("read_bandwidth", read_bandwidth, "the rate at which they are read");
    map.usual("3.5 GB/s")
        .take("write_bandwidth", write_bandwidth,
              "the rate at which they are written; what RocksDB writes anew when it compacts is to be taken off");
    map.take("iops", iops, real_leaf(Bounds::above(0)), "reads of a block of 4 KiB in a second");
    map.take("capacity", capacity, bytes_leaf(Bounds::from(1)),
             "bytes that rows of `key_value` may take; a plan that needs more ends with exit code 3. Without this key "
             "it is not checked");
  }
};

}  // namespace shardsim
