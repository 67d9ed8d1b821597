#include <jemalloc/jemalloc.h>

#include <cstddef>

// jemalloc reads this when the process starts. A prediction for thousands of ranks fills some hundreds of megabytes
// once: in huge pages that takes a fraction of the page faults, which were a quarter of its time and more under a
// hypervisor. A kernel without huge pages ignores the request. Blocks of 8 MB and more, which lists of a large world's
// operations are, come from the same arena as others and not from one of their own. That is all that the second setting
// does here: jemalloc makes its first arena, the one of our only thread, before it reads the setting.
extern "C" {
// NOLINTNEXTLINE: the name, the type and the C linkage are jemalloc's.
const char* malloc_conf = "thp:always,oversize_threshold:0,lg_extent_max_active_fit:3";
}

namespace shardsim {
namespace {

// From this size on that arena gives a freed block back to the kernel at once, which has to zero it when it is asked
// for again. Below 12 MB that took more time than the blocks are worth; above it a run of a large world needs more
// memory.
bool keep_larger_blocks() {
  std::size_t from = std::size_t{12} << 20;
  return mallctl("arena.0.oversize_threshold", nullptr, nullptr, &from, sizeof from) == 0;
}

[[maybe_unused]] const bool kept = keep_larger_blocks();  // false in an older jemalloc, which is slower, no more

}  // namespace
}  // namespace shardsim
