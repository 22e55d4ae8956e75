#include "store/log/sequencer.h"

#include <algorithm>
#include <unordered_set>
#include <utility>

namespace flyball::store {
namespace {

bool HasDuplicateKey(const Transaction& transaction) {
  if (transaction.size() < 2) return false;
  std::unordered_set<std::string_view> keys;
  return !std::all_of(transaction.begin(), transaction.end(),
                      [&](const Operation& operation) { return keys.insert(operation.key).second; });
}

std::int64_t ExpiresAt(TimePoint now, Duration ttl) {
  if (ttl <= Duration::zero()) return 0;
  return std::chrono::ceil<std::chrono::milliseconds>(now + ttl).time_since_epoch().count();
}

}  // namespace

Status CheckTransaction(const Transaction& transaction) {
  if (transaction.empty()) return Unexpected(BadRequest("a transaction needs an operation"));
  if (transaction.size() > kMaxOperations)
    return Unexpected(BadRequest("too many operations in one transaction"));
  for (const Operation& operation : transaction)
    if (operation.key.empty()) return Unexpected(BadRequest("a key must not be empty"));
  if (HasDuplicateKey(transaction)) return Unexpected(BadRequest("a key occurs twice in one transaction"));
  return {};
}

void AppendEvents(const Decision& decision, std::vector<Event>* events) {
  for (const Change& change : decision.changes) {
    Event event;
    event.type = change.value ? Event::Type::kPut : Event::Type::kDelete;
    event.kv = {change.key, change.value, change.created, RevisionOf(change.id)};
    event.previous = decision.outcome.previous[change.operation];
    events->push_back(std::move(event));
  }
}

Sequencer::Version Sequencer::Latest(std::string_view key) const {
  if (!pending_.empty()) {
    if (const auto it = pending_.find(key); it != pending_.end())
      return it->second->value ? Version{it->second->value, it->second->created, it->second->id} : Version{};
  }
  if (const Entry* entry = keyspace_.Find(key)) return {entry->value, entry->created, entry->id};
  return {};
}

bool Sequencer::Holds(const Precondition& precondition, const Version& version) {
  switch (precondition.kind) {
    case Precondition::Kind::kAny:
      return true;
    case Precondition::Kind::kAbsent:
      return !version.exists();
    case Precondition::Kind::kPresent:
      return version.exists();
    case Precondition::Kind::kModRevision:
      // As in etcd, an absent key has modification revision 0.
      return RevisionOf(version.id) == precondition.revision;
  }
  return false;
}

Decision Sequencer::Decide(Transaction transaction, TimePoint now) {
  Decision decision;
  CommitOutcome& outcome = decision.outcome;
  std::vector<Version> versions;
  versions.reserve(transaction.size());
  outcome.previous.reserve(transaction.size());
  for (const Operation& operation : transaction) {
    Version version = Latest(operation.key);
    std::optional<KeyValue> before;
    if (version.exists())
      before = KeyValue{operation.key, version.value, version.created, RevisionOf(version.id)};
    if (!Holds(operation.precondition, version)) {
      outcome.failed_operation = outcome.previous.size();
      outcome.revision = revision_;
      outcome.current = std::move(before);
      outcome.previous.clear();
      return decision;
    }
    outcome.previous.push_back(std::move(before));
    versions.push_back(std::move(version));
  }

  outcome.committed = true;
  decision.changes.reserve(transaction.size());
  for (std::size_t i = 0; i < transaction.size(); ++i) {
    Operation& operation = transaction[i];
    const Version& version = versions[i];
    if (!operation.value && !version.exists()) continue;  // deleting what is not there changes nothing
    Change change;
    change.created = operation.value ? (version.exists() ? version.created : revision_ + 1) : 0;
    change.id = MakeLogId(revision_ + 1, decision.changes.size());
    change.previous_id = version.id;
    change.operation = i;
    change.expires_unix_ms = operation.value ? ExpiresAt(now, operation.ttl) : 0;
    change.key = std::move(operation.key);
    change.value = std::move(operation.value);
    decision.changes.push_back(std::move(change));
  }
  if (!decision.changes.empty()) ++revision_;
  outcome.revision = revision_;
  for (const Change& change : decision.changes) Remember(change);
  return decision;
}

void Sequencer::Remember(const Change& change) {
  const auto [it, inserted] = pending_.try_emplace(change.key, &change);
  if (inserted) return;
  // The old view dies with the change it points into, which is published before this one.
  auto node = pending_.extract(it);
  node.key() = change.key;
  node.mapped() = &change;
  pending_.insert(std::move(node));
}

void Sequencer::Publish(Decision& decision) {
  for (Change& change : decision.changes) {
    if (const auto it = pending_.find(change.key); it != pending_.end() && it->second == &change)
      pending_.erase(it);
    published_ = RevisionOf(change.id);
    Restore(std::move(change));
  }
}

void Sequencer::Restore(Change change) {
  if (!change.value) {
    keyspace_.Erase(change.key);
    return;
  }
  if (change.expires_unix_ms != 0 && expiring_ == ExpiringValues::kInFile) change.value = nullptr;
  keyspace_.Put({std::move(change.key), std::move(change.value), change.created, change.id});
}

void Sequencer::Advance(Revision revision) {
  revision_ = std::max(revision_, revision);
  published_ = std::max(published_, revision);
}

}  // namespace flyball::store
