#include "models/collective/nccl/constants.h"

namespace shardsim {
namespace {

constexpr NcclConstants::ByProtocol kNone = {0, 0, 0};

constexpr NcclConstants::ByGeneration kLlMax = {{{39, 39, 20.4}, {87.7, 22.5, 19}, {141, 45, 35}, {282, 90, 70}}};
constexpr NcclConstants::ByGeneration kTree = {{{26.5, 18.5, 10}, {24, 23.6, 17.8}, {38.7, 41.4, 36}, {70, 42.8, 24}}};
constexpr NcclConstants::ByNodes kTwenty = {20, 20, 20};

// The 23 factors of 2.14 are the first 23 of these.
constexpr std::array<NcclConstants::Correction, 3> kTreeCorrection = {
    {{1, 1, 1, 1, .9, .8, .7, .7, .7, .7, .6, .5, .4, .4, .5, .6, .7, .8, .9, 1, 1, 1, 1, 1},
     {1, 1, 1, 1, 1, .9, .8, .8, .8, .7, .6, .6, .6, .6, .6, .6, .8, .9, .9, .9, .9, 1, 1, 1},
     {.9, .9, .9, .9, .9, .9, .9, .8, .7, .6, .6, .5, .5, .5, .5, .6, .7, .8, .7, .7, .8, .9, .9, .9}}};

// Rows: tree, ring, collnet direct, collnet chain, NVLS, NVLS tree, PAT. Columns: LL, LL128, Simple.
constexpr NcclConstants k2_30 = {
    NcclEra::v2_30,
    {{{6.8, 14, 8.4}, {6.6, 14, 8.4}, kNone, kNone, kNone, kNone, {8, 8, 8}}},
    {{{.6, 1.25, 4}, {.6, 1.9, 3.4}, {0, 0, 3.7}, {0, 0, 2.8}, {0, 0, 25}, {0, 0, 25}, {0, 0, 4}}},
    {{{1, 1.9, 4}, {1, 2.5, 5.7}, {0, 0, 3.7}, {0, 0, 2.8}, kNone, kNone, {0, 0, 4}}},
    {{{5, 8.5, 14}, {2.7, 4, 14}, {0, 0, 31}, {0, 0, 30}, {0, 0, 18}, {0, 0, 20.9}, {0, 0, 14}}},
    kLlMax,
    {{kTwenty, kTwenty, {36.7, 36.7, 36.7}, {40, 40, 40}}},
    {{kTwenty, kTwenty, {36.7, 36.7, 29}, {55.6, 31.67, 20}}},
    kTree,
    {{{26.5, 18.5, 10}, {24, 23.6, 17.8}, {0, 57.7, 45.5}, {0, 96, 80}}},
    kTreeCorrection,
    {0, 0, .85, .74},
    .4};

// Newer columns and algorithms are never asked for.
constexpr NcclConstants k2_14 = {NcclEra::v2_14,
                                 {{{4.4, 4.4, 0}, {3.6, 10, 8.4}, {4.4, 4.4, 0}, {4.4, 4.4, 0}, kNone, kNone, kNone}},
                                 {{{.52, 1.25, 28}, {.47, 1.9, 3.4}, {0, 0, 8}, {0, 0, 8}, kNone, kNone, kNone}},
                                 {{{1, 1.9, 28}, {1, 2.5, 5.7}, {0, 0, 8}, {0, 0, 8}, kNone, kNone, kNone}},
                                 {{{5, 8.5, 28}, {2.7, 4, 9.6}, {0, 0, 10.7}, {0, 0, 10.7}, kNone, kNone, kNone}},
                                 kLlMax,
                                 {{kTwenty, kTwenty, kTwenty, kTwenty}},
                                 {{kTwenty, kTwenty, kTwenty, kTwenty}},
                                 kTree,
                                 {},
                                 kTreeCorrection,
                                 {0, 0, 0, 0},
                                 .5};

constexpr std::array kIntra2_14 = {44., 30., 22., 18., 15., 12., 10., 9., 7., 6., 5., 4., 3.};
constexpr std::array kInter2_14 = {48., 30., 24., 22., 18., 15., 12., 10., 9., 7., 6., 5., 4., 3., 2.4, 1.2, .24, .12};
constexpr std::array kIntraSm80 = {40., 30., 20., 18., 15., 12., 10., 9., 7., 6., 5., 4., 3.};
constexpr std::array kInterSm80 = {48., 30., 28., 24., 20., 18., 15., 12., 10., 9.,
                                   7.,  6.,  5.,  4.,  3.,  2.4, 1.2, .24, .12};
constexpr std::array kIntraSm90 = {60., 50., 40., 30., 24., 20., 15., 12., 11., 6., 3.};
constexpr std::array kInterSm90 = {48., 45., 42., 40., 30., 24., 22., 20., 17.5, 15., 12., 6., 3., 2.4, 1.2, .24, .12};
constexpr std::array kIntraSm100 = {90., 80., 70., 60., 50., 45., 40., 30., 24., 20., 19., 18.};
// Known down to 22; below it the list of sm90 is assumed.
constexpr std::array kInterSm100 = {96., 86.,  80., 48., 45.1, 42., 40., 30., 24., 22.,
                                    20., 17.5, 15., 12., 6.,   3.,  2.4, 1.2, .24, .12};

}  // namespace

std::string_view nccl_algorithm_name(NcclAlgorithm algorithm) {
  constexpr std::array<std::string_view, kNcclAlgorithms.size()> kNames = {
      "Tree", "Ring", "CollnetDirect", "CollnetChain", "NVLS", "NVLSTree", "PAT"};
  return kNames[static_cast<std::size_t>(algorithm)];
}

std::string_view nccl_protocol_name(NcclProtocol protocol) {
  constexpr std::array<std::string_view, kNcclProtocols.size()> kNames = {"LL", "LL128", "Simple"};
  return kNames[static_cast<std::size_t>(protocol)];
}

const NcclConstants& nccl_constants(std::string_view version) {
  return version == "2.14" ? k2_14 : k2_30;
}

NcclGeneration nccl_generation(int capability, NcclEra era) {
  if (era == NcclEra::v2_14) return capability == 80 ? NcclGeneration::ampere : NcclGeneration::volta;
  if (capability >= 100) return NcclGeneration::blackwell;
  if (capability >= 90) return NcclGeneration::hopper;
  return capability >= 80 ? NcclGeneration::ampere : NcclGeneration::volta;
}

std::span<const double> nccl_speeds(int capability, NcclEra era, bool across_nodes) {
  if (era == NcclEra::v2_14) return across_nodes ? std::span<const double>(kInter2_14) : kIntra2_14;
  if (capability >= 100) return across_nodes ? std::span<const double>(kInterSm100) : kIntraSm100;
  if (capability >= 90) return across_nodes ? std::span<const double>(kInterSm90) : kIntraSm90;
  return across_nodes ? std::span<const double>(kInterSm80) : kIntraSm80;
}

}  // namespace shardsim
