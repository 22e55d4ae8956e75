#include "dns/forward/answer_cache.h"

#include <algorithm>

namespace flyball::dns {
namespace {

constexpr std::uint32_t kMaxTtl = 3600;         // CoreDNS'; hours-old addresses surprise people
constexpr std::uint32_t kMaxNegativeTtl = 300;  // a name that was just made is found in minutes
constexpr std::uint32_t kFailureTtl = 1;
constexpr std::size_t kEntryOverhead = 256;   // list and map nodes, the message itself
constexpr std::size_t kRecordOverhead = 128;  // a Record and its two heap blocks

std::size_t BytesOf(const Message& message) {
  std::size_t bytes = 0;
  for (const auto* section : {&message.answers, &message.authorities, &message.additionals})
    for (const Record& record : *section)
      bytes += kRecordOverhead + record.owner.wire().size() + record.data.size();
  return bytes;
}

std::uint32_t TtlOf(const Message& message) {
  if (message.truncated) return 0;
  if (message.rcode != kNoError && message.rcode != kNxDomain) return kFailureTtl;
  // A CNAME to a name without what was asked for is an answer with a SOA, too: the smaller counts.
  std::uint32_t ttl = message.answers.empty() || message.rcode == kNxDomain ? kMaxNegativeTtl : kMaxTtl;
  for (const Record& record : message.answers) ttl = std::min(ttl, record.ttl);
  bool has_soa = false;
  for (const Record& record : message.authorities) {
    if (record.type != kTypeSoa) continue;
    has_soa = true;
    ttl = std::min({ttl, record.ttl, SoaMinimum(record.data).value_or(0)});
  }
  return message.answers.empty() && !has_soa ? 0 : ttl;
}

void CopySection(const std::vector<Record>& from, std::vector<Record>& to, const Name& question,
                 std::uint32_t age) {
  for (const Record& record : from) {
    to.push_back(record);
    Record& copy = to.back();
    copy.ttl = copy.ttl > age ? copy.ttl - age : 0;
    if (copy.owner == question) copy.owner = question;
  }
}

}  // namespace

void UpstreamAnswer::CopyTo(Message& reply, SteadyTime now) const {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(now - received).count();
  const auto age = static_cast<std::uint32_t>(std::max<decltype(seconds)>(0, seconds));
  const Name& name = reply.question->name;
  reply.rcode = message.rcode;
  CopySection(message.answers, reply.answers, name, age);
  CopySection(message.authorities, reply.authorities, name, age);
  CopySection(message.additionals, reply.additionals, name, age);
}

Duration AnswerCache::LifetimeOf(const Message& message) {
  return std::chrono::seconds(TtlOf(message));
}

std::shared_ptr<const UpstreamAnswer> AnswerCache::Find(const std::string& key, SteadyTime now) {
  const auto found = by_key_.find(key);
  if (found == by_key_.end()) return nullptr;
  if (found->second->until <= now) {
    Drop(found->second);
    return nullptr;
  }
  entries_.splice(entries_.begin(), entries_, found->second);
  return found->second->answer;
}

void AnswerCache::Add(const std::string& key, std::shared_ptr<const UpstreamAnswer> answer, SteadyTime now) {
  if (const auto old = by_key_.find(key); old != by_key_.end()) Drop(old->second);
  const Duration lifetime = LifetimeOf(answer->message);
  const std::size_t bytes = kEntryOverhead + key.size() + BytesOf(answer->message);
  if (lifetime <= Duration::zero() || bytes > max_bytes_) return;
  while (bytes_ + bytes > max_bytes_) Drop(std::prev(entries_.end()));
  entries_.push_front({key, std::move(answer), now + lifetime, bytes});
  by_key_.emplace(entries_.front().key, entries_.begin());
  bytes_ += bytes;
}

void AnswerCache::Drop(Entries::iterator entry) {
  bytes_ -= entry->bytes;
  by_key_.erase(entry->key);
  entries_.erase(entry);
}

}  // namespace flyball::dns
