// Message: a DNS packet as a value, and its codec (RFC 1035, EDNS(0) of RFC 6891).
//
// The codec is ours and not ldns: a server for pods must bound what a hostile packet costs, keep the spelling
// of the question (0x20), compress without allocating a tree per packet, and drop whole records at an exact
// size. That is 400 lines with a fuzzer (fuzz/dns_packet_fuzz.cc), against a shared library whose messages
// are linked lists of heap objects and which brings resolver, DNSSEC and key code that nothing here would
// call.
//
// Bounds: no recursion. A compression pointer must point before everything the name has used so far, so that
// every name ends; a record takes at least 11 bytes of the packet.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "dns/packet/name.h"

namespace flyball::dns {

enum Type : std::uint16_t {
  kTypeA = 1,
  kTypeNs = 2,
  kTypeCname = 5,
  kTypeSoa = 6,
  kTypePtr = 12,
  kTypeHinfo = 13,
  kTypeMx = 15,
  kTypeTxt = 16,
  kTypeAaaa = 28,
  kTypeSrv = 33,
  kTypeDname = 39,
  kTypeOpt = 41,
  kTypeIxfr = 251,
  kTypeAxfr = 252,
  kTypeMailb = 253,
  kTypeMaila = 254,
  kTypeAny = 255,
};
inline constexpr std::uint16_t kClassIn = 1;

enum Rcode : std::uint16_t {
  kNoError = 0,
  kFormErr = 1,
  kServFail = 2,
  kNxDomain = 3,
  kNotImp = 4,
  kRefused = 5,
  kBadVers = 16,  // needs EDNS
};

// "A", "SRV"; "TYPE65280" for those without a name here (RFC 3597). "NOERROR"; "RCODE23".
std::string TypeName(std::uint16_t type);
std::string RcodeName(std::uint16_t rcode);

inline constexpr std::size_t kHeaderBytes = 12;
inline constexpr std::size_t kMaxPacketBytes = 65535;

struct Question {
  Name name{};
  std::uint16_t type = kTypeA, klass = kClassIn;
  bool operator==(const Question&) const = default;
};

struct Record {
  Name owner{};
  std::uint16_t type = 0, klass = kClassIn;
  std::uint32_t ttl = 0;
  std::string data{};  // RDATA; names in it are not compressed
  bool operator==(const Record&) const = default;
};

struct Edns {
  std::uint16_t udp_size = 512;
  std::uint8_t version = 0;
  bool dnssec_ok = false;
  bool operator==(const Edns&) const = default;
};

// Thread-compatible.
struct Message {
  std::uint16_t id = 0;
  bool response = false, authoritative = false, truncated = false;
  bool recursion_desired = false, recursion_available = false, authentic = false, checking_disabled = false;
  std::uint8_t opcode = 0;
  std::uint16_t rcode = kNoError;  // with EDNS' upper bits
  std::optional<Question> question{};
  std::vector<Record> answers{}, authorities{}, additionals{};  // without OPT
  std::optional<Edns> edns{};
};

enum class Parsed {
  kOk,
  kNotDns,  // shorter than a header: no answer is possible
  kBad,     // `out` has what the header says, and the question if that could be read
};
// More than one question is kBad: nobody asks so, and RFC 9619 forbids it. Names in the data of the types
// that RFC 1035 defines, and of SRV and DNAME, are decompressed.
Parsed Parse(std::string_view packet, Message& out);

// At most `limit` bytes (at least 512 and at most 65535). Answers and authorities that do not fit are left
// out with all that follow, and the TC bit is set; additional records are left out silently.
std::string Encode(const Message& message, std::size_t limit);

// RDATA.
std::string SrvData(std::uint16_t priority, std::uint16_t weight, std::uint16_t port, const Name& target);
std::string TxtData(std::string_view text);  // requires at most 255 bytes
struct Soa {
  Name primary{}, mailbox{};
  std::uint32_t serial = 0, refresh = 0, retry = 0, expire = 0, minimum = 0;
};
std::string SoaData(const Soa& soa);
// The minimum of a SOA's data; null if it is no such data.
std::optional<std::uint32_t> SoaMinimum(std::string_view data);
// The name that is the whole data of a CNAME, NS or PTR; null if it is not one.
std::optional<Name> NameOfData(std::string_view data);

}  // namespace flyball::dns
