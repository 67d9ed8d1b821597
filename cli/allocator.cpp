// jemalloc reads this when the process starts. A prediction for thousands of ranks fills some hundreds of megabytes
// once: in huge pages that takes a fraction of the page faults, which were a quarter of its time and more under a
// hypervisor. A kernel without huge pages ignores the request.
extern "C" {
// NOLINTNEXTLINE: the name, the type and the C linkage are jemalloc's.
const char* malloc_conf = "thp:always";
}
