#include <algorithm>
#include <array>
#include <map>

#include "dns/packet/message.h"
#include "dns/packet/record_data.h"

namespace flyball::dns {
namespace {

constexpr std::size_t kOptBytes = 11;
constexpr std::size_t kMaxPointer = 0x3fff;
// Names that later ones may point to. A bound on work: most answers repeat two or three names.
constexpr std::size_t kMaxTargets = 32;

class PacketWriter {
 public:
  explicit PacketWriter(std::size_t limit) : limit_(limit) {}

  void Put8(unsigned value) { out_ += static_cast<char>(value & 0xff); }
  void Put16(unsigned value) {
    Put8(value >> 8);
    Put8(value);
  }
  void Put32(std::uint32_t value) {
    Put16(value >> 16);
    Put16(value & 0xffff);
  }
  void Set16(std::size_t at, unsigned value) {
    out_[at] = static_cast<char>(value >> 8);
    out_[at + 1] = static_cast<char>(value & 0xff);
  }

  // Writes labels until the rest of the name is somewhere before, then points there.
  void PutName(std::string_view wire, bool compress) {
    while (!wire.empty() && wire[0] != 0) {
      if (const std::size_t target = compress ? Find(wire) : 0)
        return Put16(0xc000u | static_cast<unsigned>(target));
      if (compress && out_.size() <= kMaxPointer && targets_ < kMaxTargets)
        target_[targets_++] = static_cast<std::uint16_t>(out_.size());
      const std::size_t size = 1 + static_cast<unsigned char>(wire[0]);
      out_ += wire.substr(0, size);
      wire.remove_prefix(size);
    }
    Put8(0);
  }

  // False, and nothing written, if it does not fit.
  bool PutRecord(const Record& record, std::size_t reserved) {
    const std::size_t begin = out_.size(), targets = targets_;
    PutName(record.owner.wire(), true);
    Put16(record.type);
    Put16(record.klass);
    Put32(record.ttl);
    const std::size_t size_at = out_.size();
    Put16(0);
    PutData(record);
    const std::size_t size = out_.size() - size_at - 2;
    if (size <= 0xffff && out_.size() + reserved <= limit_)
      return Set16(size_at, static_cast<unsigned>(size)), true;
    out_.resize(begin);
    targets_ = targets;
    return false;
  }

  std::string& out() { return out_; }

 private:
  void PutData(const Record& record) {
    const DataLayout layout = LayoutOf(record.type);
    std::string_view rest = record.data;
    if (!layout.compressible || rest.size() < layout.before) {
      out_ += rest;
      return;
    }
    out_ += rest.substr(0, layout.before);
    rest.remove_prefix(layout.before);
    for (int i = 0; i < layout.names; ++i) {
      const std::size_t size = WireSize(rest);
      if (size == 0) break;  // not as it should be: as it is
      PutName(rest.substr(0, size), true);
      rest.remove_prefix(size);
    }
    out_ += rest;
  }

  // Of the name at the beginning; 0 if there is none.
  static std::size_t WireSize(std::string_view wire) {
    for (std::size_t at = 0; at < wire.size();) {
      const auto size = static_cast<unsigned char>(wire[at]);
      if (size == 0) return at + 1;
      if (size > kMaxLabelBytes) return 0;
      at += 1 + size;
    }
    return 0;
  }

  // Where the same name, of the same spelling, was written before; 0 if it was not.
  std::size_t Find(std::string_view wire) const {
    for (std::size_t i = 0; i < targets_; ++i)
      if (Matches(target_[i], wire)) return target_[i];
    return 0;
  }

  bool Matches(std::size_t at, std::string_view wire) const {
    while (at < out_.size()) {
      const auto size = static_cast<unsigned char>(out_[at]);
      if (size >= 0xc0) {  // of our own making: it goes back, so this ends
        if (at + 1 >= out_.size()) return false;
        at = (size & 0x3fu) << 8 | static_cast<unsigned char>(out_[at + 1]);
        continue;
      }
      if (out_.size() - at < 1u + size || wire.size() < 1u + size) return false;
      if (std::string_view(out_).substr(at, 1 + size) != wire.substr(0, 1 + size)) return false;
      if (size == 0) return true;
      at += 1 + size;
      wire.remove_prefix(1 + size);
    }
    return false;
  }

  const std::size_t limit_;
  std::string out_;
  std::array<std::uint16_t, kMaxTargets> target_{};
  std::size_t targets_ = 0;
};

unsigned FlagsOf(const Message& message, bool truncated) {
  const auto bit = [](bool set, int n) { return static_cast<unsigned>(set) << n; };
  return bit(message.response, 15) | (message.opcode & 0xfu) << 11 | bit(message.authoritative, 10) |
         bit(truncated, 9) | bit(message.recursion_desired, 8) | bit(message.recursion_available, 7) |
         bit(message.authentic, 5) | bit(message.checking_disabled, 4) | (message.rcode & 0xfu);
}

void PutOpt(PacketWriter& writer, const Message& message) {
  writer.Put8(0);
  writer.Put16(kTypeOpt);
  writer.Put16(message.edns->udp_size);
  writer.Put8(message.rcode >> 4);
  writer.Put8(message.edns->version);
  writer.Put16(message.edns->dnssec_ok ? 0x8000 : 0);
  writer.Put16(0);
}

// How many of the section fit.
std::size_t PutSection(PacketWriter& writer, const std::vector<Record>& section, std::size_t reserved) {
  std::size_t written = 0;
  while (written < section.size() && writer.PutRecord(section[written], reserved)) ++written;
  return written;
}

}  // namespace

std::string Encode(const Message& message, std::size_t limit) {
  PacketWriter writer(std::clamp<std::size_t>(limit, 512, kMaxPacketBytes));
  const std::size_t reserved = message.edns ? kOptBytes : 0;
  writer.Put16(message.id);
  for (int i = 0; i < 5; ++i) writer.Put16(0);
  if (message.question) {
    writer.PutName(message.question->name.wire(), true);
    writer.Put16(message.question->type);
    writer.Put16(message.question->klass);
  }
  const std::size_t answers = PutSection(writer, message.answers, reserved);
  bool whole = answers == message.answers.size();
  const std::size_t authorities = whole ? PutSection(writer, message.authorities, reserved) : 0;
  whole = whole && authorities == message.authorities.size();
  std::size_t additionals = whole ? PutSection(writer, message.additionals, reserved) : 0;
  if (message.edns) {
    PutOpt(writer, message);
    ++additionals;
  }
  writer.Set16(2, FlagsOf(message, message.truncated || !whole));
  writer.Set16(4, message.question ? 1 : 0);
  writer.Set16(6, static_cast<unsigned>(answers));
  writer.Set16(8, static_cast<unsigned>(authorities));
  writer.Set16(10, static_cast<unsigned>(additionals));
  return std::move(writer.out());
}

std::string TypeName(std::uint16_t type) {
  static const std::map<std::uint16_t, const char*> kNames = {
      {kTypeA, "A"},         {kTypeNs, "NS"},   {kTypeCname, "CNAME"}, {kTypeSoa, "SOA"},
      {kTypePtr, "PTR"},     {kTypeMx, "MX"},   {kTypeTxt, "TXT"},     {kTypeAaaa, "AAAA"},
      {kTypeSrv, "SRV"},     {kTypeAny, "ANY"}, {kTypeAxfr, "AXFR"},   {kTypeIxfr, "IXFR"},
      {kTypeHinfo, "HINFO"}, {kTypeOpt, "OPT"}, {kTypeDname, "DNAME"}, {43, "DS"},
      {48, "DNSKEY"},        {64, "SVCB"},      {65, "HTTPS"},         {35, "NAPTR"},
      {257, "CAA"}};
  const auto found = kNames.find(type);
  return found != kNames.end() ? found->second : "TYPE" + std::to_string(type);
}

std::string RcodeName(std::uint16_t rcode) {
  switch (rcode) {
    case kNoError:
      return "NOERROR";
    case kFormErr:
      return "FORMERR";
    case kServFail:
      return "SERVFAIL";
    case kNxDomain:
      return "NXDOMAIN";
    case kNotImp:
      return "NOTIMP";
    case kRefused:
      return "REFUSED";
    case kBadVers:
      return "BADVERS";
    default:
      return "RCODE" + std::to_string(rcode);
  }
}

}  // namespace flyball::dns
