#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "accuracy/emulated/campaign.h"
#include "base/units.h"

namespace shardsim {

// An emulated two-tier cluster: how many ranks, and what the shapers let through. The defaults are the reference
// set-up: 12:1 as in real machines, slow enough that two busy cores carry it.
struct EmulatedShape {
  NodeShape ranks;
  Bandwidth fast{240e6 / 8};  // inside a node, per rank and direction; frames of 9000 bytes
  Bandwidth nic{20e6 / 8};    // between nodes; frames of 1500 bytes
  bool operator==(const EmulatedShape&) const = default;
};

// The same with both tiers at a share of their rates.
EmulatedShape at_share(EmulatedShape shape, double share);

inline constexpr int kFastMtu = 9000, kNicMtu = 1500;
// Tokens that accumulate while a link is idle let bytes pass without limit, and a frame that is longer than the burst
// is dropped. So a burst holds one frame with its header and little more. The part beyond the frame compensates for
// late timers; a timer that is later than this covers lowers the rate. On the fast tier 9,100 bytes leave 3 us, with
// which idle processors carried 28.2 of 29.8 MB/s; 10,500 leave 50 us and carry 29.7.
inline constexpr int kFastBurst = 10500, kNicBurst = 1600;
inline constexpr int kMostEmulatedRanks = 64;

// Returns the rate that a shaper leaves for payload: MTU less 52 bytes of headers (IP 20, TCP 20, time stamps 12), over
// MTU plus 14 of the frame.
Bandwidth payload_rate(Bandwidth shaped, int mtu);

// Errors (Failure::input, at the argument's name): too many or too few ranks, rates outside 1 Mbit/s to 10 Gbit/s.
void check_shape(const EmulatedShape& shape);

// Names of network namespaces and addresses. Ranks count from 0.
std::string rank_name_space(int rank);  // "emu-r0"
inline constexpr const char* kSwitchNameSpace = "emu-sw";
std::string rank_address(int rank);  // "10.2.0.1", on the NIC; the kernel picks the tier by its routes

// Lines for `ip -batch` and `tc -batch`. With -n the namespace that the name says; `make` alone without.
std::string make_name_spaces(const EmulatedShape& shape);                  // ip
std::string make_bridges(const EmulatedShape& shape);                      // ip -n emu-sw
std::string make_rank_links(const EmulatedShape& shape, int rank);         // ip -n emu-rRANK; makes both ends
std::string make_switch_links(const EmulatedShape& shape);                 // ip -n emu-sw
std::string make_rank_shapers(const EmulatedShape& shape);                 // tc -n emu-rRANK, transmit ports
std::string make_switch_shapers(const EmulatedShape& shape);               // tc -n emu-sw, receive ports
std::string change_nic_shaper(const std::string& device, Bandwidth rate);  // tc, live

// Check that the kernel has what was asked for, by what `tc` and `ip` print. Each returns what is wrong, or "". Errors:
// Failure::run when one of them cannot be run.
std::string wrong_rank_shapers(const EmulatedShape& shape, int rank);  // transmit ports
std::string wrong_switch_shapers(const EmulatedShape& shape);          // receive ports
std::string wrong_routes(const EmulatedShape& shape, int rank);        // one to each other rank of the node

// The parts: of `tc -j qdisc show` and of `ip -j route`.
std::string wrong_shaper(std::string_view qdiscs, const std::string& device, Bandwidth rate, int mtu, int burst);
std::string wrong_fast_routes(std::string_view routes, const EmulatedShape& shape, int rank);

}  // namespace shardsim
