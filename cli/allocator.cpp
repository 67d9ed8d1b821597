// jemalloc reads this when the process starts. A prediction for thousands of ranks fills some hundreds of megabytes
// once: in huge pages that takes a fraction of the page faults, which were a quarter of its time and more under a
// hypervisor. A kernel without huge pages ignores the request. Blocks of 8 MB and more, which lists of a large world's
// operations are, come from the same store as others: from one of their own they would be given back to the kernel when
// they are freed, and fetched page by page by the next list.
extern "C" {
// NOLINTNEXTLINE: the name, the type and the C linkage are jemalloc's.
const char* malloc_conf = "thp:always,oversize_threshold:0";
}
