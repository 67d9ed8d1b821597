// jemalloc reads this when the process starts. A prediction for thousands of ranks fills some hundreds of megabytes
// once: in huge pages that takes a fraction of the page faults, which were a quarter of its time and more under a
// hypervisor. A kernel without huge pages ignores the request. Blocks of 8 MB and more, which lists of a large world's
// operations are, come from the same arena as others and not from one of their own. That is all that the second setting
// does here: jemalloc makes its first arena, the one of our only thread, before it reads the setting, so that the limit
// from which this arena gives a freed block back to the kernel at once stays 8 MB.
extern "C" {
// NOLINTNEXTLINE: the name, the type and the C linkage are jemalloc's.
const char* malloc_conf = "thp:always,oversize_threshold:0";
}
