#include "dns/packet/message.h"
#include "dns/packet/record_data.h"
#include "dns/packet/wire_reader.h"

namespace flyball::dns {
namespace {

struct Counts {
  std::uint16_t questions = 0, answers = 0, authorities = 0, additionals = 0;
};

bool ReadHeader(WireReader& reader, Message& out, Counts& counts) {
  std::uint16_t flags = 0;
  if (!reader.Read16(out.id) || !reader.Read16(flags) || !reader.Read16(counts.questions) ||
      !reader.Read16(counts.answers) || !reader.Read16(counts.authorities) ||
      !reader.Read16(counts.additionals))
    return false;
  const auto bit = [flags](int n) { return (flags >> n & 1) != 0; };
  out.response = bit(15);
  out.opcode = flags >> 11 & 0xf;
  out.authoritative = bit(10);
  out.truncated = bit(9);
  out.recursion_desired = bit(8);
  out.recursion_available = bit(7);
  out.authentic = bit(5);
  out.checking_disabled = bit(4);
  out.rcode = flags & 0xf;
  return true;
}

// The OPT record is no record but more of the header, and there is one at most.
bool TakeOpt(const Record& record, bool in_additionals, Message& out) {
  if (!in_additionals || out.edns || !record.owner.IsRoot()) return false;
  out.edns = Edns{.udp_size = record.klass,
                  .version = static_cast<std::uint8_t>(record.ttl >> 16 & 0xff),
                  .dnssec_ok = (record.ttl & 0x8000) != 0};
  out.rcode |= static_cast<std::uint16_t>(record.ttl >> 24 << 4);
  return true;
}

bool ReadRecord(WireReader& reader, Record& record) {
  std::uint16_t size = 0;
  return reader.ReadName(record.owner) && reader.Read16(record.type) && reader.Read16(record.klass) &&
         reader.Read32(record.ttl) && reader.Read16(size) && ReadData(record.type, reader, size, record.data);
}

bool ReadSection(WireReader& reader, int count, std::vector<Record>& section, bool additionals,
                 Message& out) {
  for (int i = 0; i < count; ++i) {
    Record record;
    if (!ReadRecord(reader, record)) return false;
    if (record.type != kTypeOpt)
      section.push_back(std::move(record));
    else if (!TakeOpt(record, additionals, out))
      return false;
  }
  return true;
}

}  // namespace

Parsed Parse(std::string_view packet, Message& out) {
  out = {};
  WireReader reader(packet, 0);
  Counts counts;
  if (packet.size() > kMaxPacketBytes || !ReadHeader(reader, out, counts)) return Parsed::kNotDns;
  if (counts.questions > 1) return Parsed::kBad;
  if (counts.questions == 1) {
    Question question;
    if (!reader.ReadName(question.name) || !reader.Read16(question.type) || !reader.Read16(question.klass))
      return Parsed::kBad;
    out.question = std::move(question);
  }
  const bool whole = ReadSection(reader, counts.answers, out.answers, false, out) &&
                     ReadSection(reader, counts.authorities, out.authorities, false, out) &&
                     ReadSection(reader, counts.additionals, out.additionals, true, out);
  return whole ? Parsed::kOk : Parsed::kBad;
}

}  // namespace flyball::dns
