#pragma once

#include <map>
#include <string>
#include <vector>

namespace shardsim {

// Facts about a machine beside its times, by name: for whoever wonders why two runs differ.
using Facts = std::map<std::string, std::string>;

// "name: value; name: value", and back. Names hold no ": ", values no "; "; line ends become blanks.
std::string facts_text(const Facts& facts);
Facts facts_of_text(const std::string& text);

// The facts of the ranks, by rank ("" for one that says nothing), as one text: a value that all have, or of numbers the
// least and the most, or each value with its ranks.
std::string merged_facts(const std::vector<std::string>& texts);

// The facts of this host and process: processors that it may use, NICs with their NUMA nodes, variables NCCL_*.
Facts host_facts();

// The state that nvidia-smi tells of the GPU at this PCI address ("0000:1b:00.0"), and the NUMA node that it is on:
// clocks, power, temperature, why it is throttled, ECC. {} where it does not say. Takes a fraction of a second.
Facts gpu_state(const std::string& pci_address);

}  // namespace shardsim
