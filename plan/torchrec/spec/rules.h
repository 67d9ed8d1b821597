#pragma once

namespace shardsim::torchrec {

// Where the TorchRec sharding-stats guide (2026-02-18) states another rule than the code of commit a48cef79. False: as
// the code; true: as the guide.
struct Rules {
  bool rw_rows = false;              // every rank floor(rows / ranks) rows; for estimates only: some rows find no place
  bool ec_metadata_bytes = false;    // 4 bytes per row more in tables of sequence collections
  bool prefetch_truncation = false;  // the prefetch term of the pipeline not cut to whole bytes
  bool cache_aux = false;            // cache auxiliary bytes for fused_uvm_caching alone
  bool dense_reservation = false;    // (parameters - embeddings) x multiplier + buffers

  bool operator==(const Rules&) const = default;
  static constexpr Rules guide() { return {true, true, true, true, true}; }
};

}  // namespace shardsim::torchrec
