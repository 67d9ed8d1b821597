#pragma once

#include "models/compute/compute_model.h"
#include "models/compute/gpus/gpu_constants.h"

namespace shardsim {

// Seconds of kernels, alone on their GPU, by the constants of that GPU. Formulas and where they come from:
// docs/formats/measurements.md, compute model gpu_kernels.

// Row reads of a lookup that reach DRAM: each different row once where all of them fit into L2 or nothing is known of
// how rows come back; else the reads that miss, and never fewer than there are different rows.
//
// Two numbers describe the reuse of rows: the different rows U and their growth h = d ln U / d ln n. They are those of
// a mixture: some lookups go to a few rows that stay in L2, c go evenly to E rows, with h = y / (e^y - 1), y = c / E,
// and U = E (1 - e^-y). For even access this is exact. An L2 of X rows keeps X / E of the E rows (Che's approximation).
double dram_row_reads(double lookups, const RowWork& rows, double cache_bytes);

// The growth of even access: `lookups` to `rows` rows.
double even_growth(double lookups, double rows);

// start + max(DRAM bytes / rate of random rows, (row bytes of all lookups + rest) / rate of rows from L2, issue), the
// rest being vectors written and ids read. Where nothing is known of the rows: work.hbm_bytes at the rate of random
// rows.
Seconds lookup_time(const ComputeWork& work, const GpuConstants& gpu);

// The exact update of FBGEMM: the sort of the lookups, passes over their keys, gradients summed by row, each different
// row and its state read and written. Or, in place, each lookup reading and writing its row.
Seconds update_time(const ComputeWork& work, const GpuConstants& gpu);

// sort_fixed + passes of 8 bits x (start + pairs / rate); the rate is that of ranking or that of the memory.
Seconds sort_time(double pairs, const SortWork& sort, const GpuConstants& gpu);

// Tiles of the product in waves over the SMs, the best of a few tile shapes and splits of k, or its operands from
// memory where that takes longer; `in_situ` as make_gpu_kernels(). Where only FLOP are known: those at the best rate.
Seconds product_time(const ComputeWork& work, Flops peak, double in_situ, const GpuConstants& gpu);

// Bytes of an element of a product.
double element_bytes(const std::string& precision);

}  // namespace shardsim
