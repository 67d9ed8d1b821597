#include "accuracy/measurements/read/run_settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "accuracy/measurements/read/log_line.h"
#include "base/text.h"
#include "topology/spec/network_spec.h"

namespace shardsim {
namespace {

constexpr const char* kNetwork = "network";
constexpr const char* kListed = "listed NICs";
constexpr const char* kVersion = "NCCL version";
constexpr const char* kNoMulticast = "NVLS";  // why there is none
// Ways of channels, "0[0] -> 1[1] via P2P/CUMEM", of which any says that NCCL could take it.
constexpr const char *kByPeers = "P2P", *kByHost = "SHM", *kDirect = "GDRDMA", *kOverHost = "NET";

bool is_set(const std::string& value) {
  return !value.empty();
}

bool is_zero(const std::string& value) {
  return value == "0";
}

bool is_switched_on(const std::string& value) {
  return !value.empty() && value != "0";
}

std::optional<int> cross_nic_of(const std::string& value) {
  const std::optional<int> stated = whole_number<int>(value);
  return stated && *stated >= 0 && *stated <= 2 ? stated : std::nullopt;
}

// The part of NCCL_ALGO or NCCL_PROTO that is of one collective: "tree" of "ring;allreduce:tree" for an all_reduce, and
// the part without a name for those that have none of their own (NCCL 2.24).
std::string part_of(const std::string& lists, CollectiveKind kind) {
  std::string others;
  for (const std::string& part : split(lists, ';')) {
    const std::size_t colon = part.find(':');
    if (colon == std::string::npos) others = part;
    if (colon != std::string::npos && find_collective_kind(part.substr(0, colon)) == kind)
      return part.substr(colon + 1);
  }
  return others;
}

// True when all names of all parts are NCCL's; `unknown` finds the first that is none.
bool are_known(const std::string& lists, std::string (*unknown)(std::string_view list)) {
  return !lists.empty() && std::ranges::all_of(split(lists, ';'), [&](const std::string& part) {
    return unknown(std::string_view(part).substr(part.find(':') + 1)).empty();
  });
}

bool are_algorithms(const std::string& lists) {
  return are_known(lists, unknown_algorithm);
}

bool are_protocols(const std::string& lists) {
  return are_known(lists, unknown_protocol);
}

bool is_cross_nic(const std::string& value) {
  return cross_nic_of(value).has_value();
}

// A variable of NCCL that changes how fast it is.
struct Variable {
  // followed: a prediction does as it says, if it says what NCCL knows. judged: it decides whether the run is one of
  // the cluster (SwitchedOff). not_followed: nothing here says by how much it changes a time.
  enum class Use { followed, judged, not_followed };

  std::string_view name;
  Use use = Use::judged;
  bool (*holds)(const std::string& value) = is_set;  // whether a value changes anything
};

// All that are read from a log, in the order in which people are told of them.
constexpr std::array<Variable, 25> kVariables = {{
    {"NCCL_ALGO", Variable::Use::followed, are_algorithms},
    {"NCCL_PROTO", Variable::Use::followed, are_protocols},
    {"NCCL_NVLS_ENABLE", Variable::Use::followed, is_zero},
    {"NCCL_PXN_DISABLE", Variable::Use::followed, is_switched_on},
    {"NCCL_CROSS_NIC", Variable::Use::followed, is_cross_nic},
    {"NCCL_MIN_CTAS", Variable::Use::followed},
    {"NCCL_MIN_NCHANNELS", Variable::Use::followed},
    {"NCCL_MAX_CTAS", Variable::Use::followed},
    {"NCCL_MAX_NCHANNELS", Variable::Use::followed},
    {"NCCL_P2P_DISABLE"},
    {"NCCL_P2P_LEVEL"},
    {"NCCL_SHM_DISABLE"},
    {"NCCL_IB_DISABLE"},
    {"NCCL_NET"},
    {"NCCL_NET_GDR_LEVEL"},
    {"NCCL_MNNVL_ENABLE"},
    {"NCCL_IB_HCA"},
    {"NCCL_BUFFSIZE", Variable::Use::not_followed},
    {"NCCL_NTHREADS", Variable::Use::not_followed},
    {"NCCL_GRAPH_FILE", Variable::Use::not_followed},
    {"NCCL_TUNER_PLUGIN", Variable::Use::not_followed},
    {"NCCL_P2P_NET_CHUNKSIZE", Variable::Use::not_followed},
    {"NCCL_NCHANNELS_PER_NET_PEER", Variable::Use::not_followed},
    {"NCCL_SOCKET_NTHREADS", Variable::Use::not_followed},
    {"NCCL_NSOCKS_PERTHREAD", Variable::Use::not_followed},
}};

// What NCCL got in the course of time, each with the first minor version of NCCL 2 that has it (its release notes).
struct Since {
  std::string_view name;
  int minor = 0;
};

constexpr std::array<Since, 3> kAlgorithmsSince = {{{"NVLS", 17}, {"NVLSTree", 18}, {"PAT", 23}}};
constexpr int kPxnSince = 12;

// The minor version of "2.14.3", "2.14.3+cuda11.7" and of the number 21403 or, up to 2.8, 2708; nothing of other texts.
std::optional<int> minor_version(const std::string& text) {
  if (text.starts_with("2.")) return whole_number<int>(text.substr(2, text.find_first_not_of("0123456789", 2) - 2));
  const int code = whole_number<int>(text).value_or(0);
  if (code >= 20900 && code < 30000) return code / 100 % 100;
  if (code >= 2000 && code < 2900) return code / 100 % 10;
  return std::nullopt;
}

std::string word_at(std::string_view text) {
  const bool is_quoted = text.starts_with('"') || text.starts_with('\'');
  if (is_quoted) text.remove_prefix(1);
  return std::string(text.substr(0, text.find_first_of(is_quoted ? " \t\"'." : " \t\"';.")));
}

// A value as NCCL prints it, without quotes and often with a full stop behind it.
std::string printed_at(std::string_view text) {
  std::string value(text.substr(0, text.find_first_of(" \t\"'")));
  if (value.ends_with('.')) value.pop_back();
  return value;
}

// A comment of a script sets nothing, unless a prompt is what looks like one, and neither does advice.
bool may_set(std::string_view line) {
  return (!line.starts_with('#') || command_in(line)) && line.find(" WARN ") == std::string_view::npos;
}

// The NICs of a host that NCCL_IB_HCA names one by one ("=mlx5_0:1,mlx5_1:1"); 0 where it leaves some out or names a
// whole family ("mlx5"), of which nobody knows how many there are.
int named_nics(const std::string& list) {
  if (list.empty() || list.starts_with('^')) return 0;
  std::set<std::string> names;
  for (const std::string& each : split(list.starts_with('=') ? list.substr(1) : list, ',')) {
    const std::string name = each.substr(0, each.find(':'));
    if (name.empty() || name.back() < '0' || name.back() > '9' || name == "mlx5" || name == "mlx4") return 0;
    names.insert(name);
  }
  return static_cast<int>(names.size());
}

// The number of NICs that NCCL lists: "NET/IB : Using [0]mlx5_0:1/RoCE [1]mlx5_1:1/RoCE [RO]; OOB eth0:10.0.0.1<0>".
// Ports of one card count as one.
int listed_nics(std::string_view list) {
  std::set<std::string> names;
  for (std::size_t at = list.find('['); at != std::string_view::npos; at = list.find('[', at + 1)) {
    const std::string_view entry = list.substr(at + 1, list.find_first_of(" ;", at) - at - 1);
    const std::size_t close = entry.find(']'), port = entry.find(':');
    if (close == std::string_view::npos || port == std::string_view::npos || port < close) continue;
    if (whole_number<int>(std::string(entry.substr(0, close))))
      names.emplace(entry.substr(close + 1, port - close - 1));
  }
  return static_cast<int>(names.size());
}

// The rest of the line behind a text that NCCL prints; nothing if the line does not have that text.
std::optional<std::string_view> behind(std::string_view line, std::string_view text) {
  const std::size_t at = line.find(text);
  return at == std::string_view::npos ? std::nullopt : std::optional(line.substr(at + text.size()));
}

// The variable must end where its name does, and begin where a word does: RCCL_ALGO and NCCL_ALGO_X are others.
void find_variable(std::string_view line, std::string_view variable, std::vector<RunSetting>& found) {
  constexpr std::string_view kSet = " set by environment to ", kSetTo = " set to ";  // as versions print it
  for (std::size_t at = line.find(variable); at != std::string_view::npos; at = line.find(variable, at + 1)) {
    std::string_view rest = line.substr(at + variable.size());
    const std::string_view set =
        line.find("NCCL INFO") == std::string_view::npos || rest.starts_with(kSet) ? kSet : kSetTo;
    const bool is_of_nccl = rest.starts_with(set);
    if ((at > 0 && line[at - 1] == '_') || (!is_of_nccl && !rest.starts_with('='))) continue;
    if (!is_of_nccl && !may_set(line)) return;
    rest.remove_prefix(is_of_nccl ? set.size() : 1);
    found.push_back(
        {std::string(variable), is_of_nccl ? printed_at(rest) : word_at(rest), !is_of_nccl && !is_launch(line)});
    return;
  }
}

// What NCCL_DEBUG=INFO tells of the way that data take.
void find_ways(std::string_view line, std::vector<RunSetting>& found) {
  const bool is_of_channels =
      line.find("hannel") != std::string_view::npos || line.find("NVLS") != std::string_view::npos;
  if (!is_of_channels) return;
  for (const std::string_view without : {"NVLS multicast support is not available", " 0 nvls channels"})
    if (behind(line, without))
      found.push_back({kNoMulticast, std::string(without.substr(without.find_first_not_of(' '))), false});
  const auto way = behind(line, " via ");
  if (!way || line.find(" -> ") == std::string_view::npos) return;
  const std::string word(way->substr(0, way->find_first_of(" \t\"'")));
  if (way->starts_with("P2P/")) found.push_back({kByPeers, word, false});
  if (way->starts_with("SHM/")) found.push_back({kByHost, word, false});
  if (!way->starts_with("NET/")) return;
  // Names of plugins hold blanks: "via NET/NCCL RDMA Plugin v9/0/GDRDMA".
  const std::string whole(way->substr(0, way->find_first_of("\"'")));
  found.push_back({whole.find(kDirect) == whole.npos ? kOverHost : kDirect, whole, false});
}

}  // namespace

std::vector<RunSetting> settings_in(std::string_view line) {
  std::vector<RunSetting> found;
  const bool is_info = line.find("NCCL INFO") != std::string_view::npos;  // most lines of a large log
  if (is_info) find_ways(line, found);
  if (line.find("NCCL_") != std::string_view::npos)
    for (const Variable& variable : kVariables) find_variable(line, variable.name, found);
  if (const auto network = behind(line, "Using network ")) found.push_back({kNetwork, word_at(*network), false});
  for (const char* const name : {"NCCL version ", "nccl-library=", "compiled with NCCL "}) {
    if (const auto version = behind(line, name); version && minor_version(printed_at(*version)))
      found.push_back({kVersion, printed_at(*version), false});
    if (is_info) break;
  }
  if (const auto nics = behind(line, "NET/IB : Using "))
    if (const int count = listed_nics(*nics); count > 0) found.push_back({kListed, std::to_string(count), false});
  return found;
}

void RunSettings::go_on(const RunSettings& stated) {
  own_ = stated.own_;
  for (const auto& [variable, value] : stated.lasting_) lasting_[variable] = value;
}

std::string RunSettings::value(const std::string& variable) const {
  for (const auto* const some : {&own_, &lasting_})
    if (const auto found = some->find(variable); found != some->end()) return found->second;
  return "";
}

std::string RunSettings::statement(const std::string& variable) const {
  return variable + "=" + value(variable);
}

bool RunSettings::is_on(const std::string& variable) const {
  return is_switched_on(value(variable));
}

// The algorithms that the version of NCCL does not have, as far as the log says which one it is.
std::vector<std::string> RunSettings::lacking() const {
  std::vector<std::string> names;
  const std::optional<int> minor = minor_version(value(kVersion));
  for (const auto& [name, since] : kAlgorithmsSince)
    if (minor && *minor < since) names.emplace_back(name);
  return names;
}

bool RunSettings::lacks_pxn() const {
  const std::optional<int> minor = minor_version(value(kVersion));
  return minor && *minor < kPxnSince;
}

std::string RunSettings::algorithms(CollectiveKind kind) const {
  const std::string all = value("NCCL_ALGO"), stated = are_algorithms(all) ? part_of(all, kind) : "";
  std::vector<std::string> without = lacking();
  if (is_nvls_off()) without.insert(without.begin(), {"NVLS", "NVLSTree"});
  if (without.empty() || (!stated.empty() && !stated.starts_with('^'))) return stated;
  return (stated.empty() ? "^" : stated + ",") + join(without, ",");
}

std::string RunSettings::protocols(CollectiveKind kind) const {
  const std::string all = value("NCCL_PROTO");
  return are_protocols(all) ? part_of(all, kind) : "";
}

std::optional<int> RunSettings::cross_nic() const {
  return cross_nic_of(value("NCCL_CROSS_NIC"));
}

// The number of a variable, by either of its names; 0 where neither is stated.
int RunSettings::channels(const char* newer, const char* older) const {
  const std::string stated = value(newer).empty() ? value(older) : value(newer);
  return std::clamp(whole_number<int>(stated).value_or(0), 0, kMostChannels);
}

int RunSettings::least_channels() const {
  return channels("NCCL_MIN_CTAS", "NCCL_MIN_NCHANNELS");
}

int RunSettings::most_channels() const {
  return channels("NCCL_MAX_CTAS", "NCCL_MAX_NCHANNELS");
}

SwitchedOff RunSettings::switched_off() const {
  const auto is_local = [](const std::string& level) { return level == "LOC" || level == "0"; };
  SwitchedOff off;
  if (!value(kByPeers).empty()) off.direct_copies = "via " + value(kByPeers);
  // Where channels of both kinds are, some of the GPUs are far from each other.
  if (value(kByPeers).empty() && !value(kByHost).empty()) off.peer_to_peer = "via " + value(kByHost);
  if (value(kDirect).empty() && !value(kOverHost).empty()) off.gpudirect = "via " + value(kOverHost);
  if (is_local(value("NCCL_P2P_LEVEL"))) off.peer_to_peer = statement("NCCL_P2P_LEVEL");
  if (is_on("NCCL_P2P_DISABLE")) off.peer_to_peer = statement("NCCL_P2P_DISABLE");
  if (is_on("NCCL_SHM_DISABLE")) off.shared_memory = statement("NCCL_SHM_DISABLE");
  if (is_local(value("NCCL_NET_GDR_LEVEL"))) off.gpudirect = statement("NCCL_NET_GDR_LEVEL");
  if (value("NCCL_MNNVL_ENABLE") == "0") off.nvlinks_of_hosts = statement("NCCL_MNNVL_ENABLE");
  off.nics_left = named_nics(value("NCCL_IB_HCA"));
  if (off.nics_left > 0) off.other_nics = statement("NCCL_IB_HCA");
  if (const int listed = whole_number<int>(value(kListed)).value_or(0); off.nics_left == 0 && listed > 0) {
    off.nics_left = listed;
    off.other_nics = "NET/IB lists " + counted(static_cast<std::size_t>(listed), "NIC");
  }
  const std::string network = value(kNetwork);
  off.network = network;
  if (network.empty() && is_on("NCCL_IB_DISABLE")) off.infiniband = statement("NCCL_IB_DISABLE");
  if (network.empty() && same_but_case(value("NCCL_NET"), "Socket")) off.all_but_sockets = statement("NCCL_NET");
  if (network == "Socket") off.all_but_sockets = "Using network Socket";
  return off;
}

template <typename Test>
std::string RunSettings::statements(const Test& is_wanted) const {
  std::vector<std::string> texts;
  for (const Variable& variable : kVariables)
    if (const std::string name(variable.name); is_wanted(variable, value(name))) texts.push_back(statement(name));
  return join(texts, " ");
}

std::string RunSettings::followed(bool has_multicast) const {
  const std::string variables = statements([](const Variable& variable, const std::string& stated) {
    return variable.use == Variable::Use::followed && variable.holds(stated);
  });
  std::vector<std::string> without = lacking();
  if (lacks_pxn()) without.emplace_back("PXN");
  const std::string& none = value(kNoMulticast);
  if (has_multicast && !none.empty()) return variables.empty() ? none : variables + " " + none;
  if (without.empty()) return variables;
  const std::string version = value(kVersion);
  const std::string old = fmt::format("NCCL {}, which lacks {},", version.substr(0, version.find('+')), join(without));
  return variables.empty() ? old : variables + " " + old;
}

// Among them lists with a name that NCCL does not have: nobody knows what it did then.
std::string RunSettings::not_followed() const {
  return statements([](const Variable& variable, const std::string& stated) {
    if (variable.use == Variable::Use::not_followed) return variable.holds(stated);
    const bool is_list = variable.holds == are_algorithms || variable.holds == are_protocols;
    return is_list && !stated.empty() && !variable.holds(stated);
  });
}

}  // namespace shardsim
