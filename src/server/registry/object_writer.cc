#include "server/registry/object_writer.h"

#include <utility>
#include <vector>

#include "server/catalog/served_forms.h"
#include "server/registry/object_codec.h"

namespace flyball::server {
namespace {

bool IsEvent(const ServedResource& resource) {
  return resource.prefix == "/registry/events/";
}

}  // namespace

Task<bool> ObjectWriter::IsStale(RequestScope& scope, std::string key) {
  if (!store_.shared()) co_return store_.IsStale(key);
  if (workers_ == nullptr) co_return false;
  scope.executor = *workers_;
  co_await ResumeOn(scope.executor);
  co_return store_.IsStale(key);
}

Task<Result<store::CommitOutcome>> ObjectWriter::Commit(RequestScope& scope, store::Operation operation,
                                                        store::Transaction companions) {
  FLYBALL_CO_TRY(scope.CheckAlive());
  store::Transaction transaction;
  transaction.push_back(std::move(operation));
  for (auto& companion : companions) transaction.push_back(std::move(companion));
  auto start = [this, &transaction](UniqueFunction<void(Result<store::CommitOutcome>)> done) {
    store_.Commit(std::move(transaction), std::move(done));
  };
  auto committed = Callback<Result<store::CommitOutcome>>(scope.executor, std::move(start));
  co_return co_await committed;
}

Task<Result<store::CommitOutcome>> ObjectWriter::CommitExpected(RequestScope& scope,
                                                                const ServedResource& resource,
                                                                std::shared_ptr<StoredObject> object,
                                                                store::Operation put,
                                                                store::Transaction companions) {
  const Expectation expectation = resource.cache->Expect(std::move(object));
  auto committing = Commit(scope, std::move(put), std::move(companions));
  co_return co_await std::move(committing);
}

Task<Result<std::shared_ptr<StoredObject>>> ObjectWriter::Encode(RequestScope& scope,
                                                                 const ServedResource& resource,
                                                                 json::Value& object,
                                                                 store::Revision revision) {
  const auto& kind = resource.cache->kind();
  if (!resource.converter || resource.IsStorageVersion()) {
    Bytes bytes = EncodeObject(resource, object);
    co_return StoredObject::FromValue(object, std::move(bytes), revision, kind);
  }
  std::vector<json::Value> one{object};
  const std::string api_version = kind.ApiVersion();
  auto converting = resource.converter->Convert(std::move(one), api_version, scope.executor);
  FLYBALL_CO_ASSIGN(std::vector<json::Value> stored, co_await std::move(converting));
  Bytes bytes = EncodeStoredCustom(kind, stored.front());
  co_return StoredObject::FromValue(stored.front(), std::move(bytes), revision, kind);
}

Task<Result<Written>> ObjectWriter::Put(RequestScope& scope, const ServedResource& resource,
                                        std::shared_ptr<StoredObject> object,
                                        store::Precondition precondition, store::Transaction companions) {
  store::Operation put{resource.Key(object->namespace_name(), object->name()), object->bytes(), precondition,
                       IsEvent(resource) ? event_ttl_ : Duration{}};
  object->set_revision(0);
  auto committing = CommitExpected(scope, resource, object, std::move(put), std::move(companions));
  auto outcome = co_await std::move(committing);
  if (!outcome) co_return Unexpected(outcome.error());
  // Otherwise the cache has done it, and shares the object now.
  if (outcome->committed && object->revision() == 0) object->set_revision(outcome->revision);
  if (outcome->committed) co_return Written::kYes;
  co_return outcome->failed_operation == 0 ? Written::kObjectDiffers : Written::kCompanionDiffers;
}

Task<Result<store::CommitOutcome>> ObjectWriter::Erase(RequestScope& scope, const ServedResource& resource,
                                                       const StoredObject& current,
                                                       store::Transaction companions) {
  store::Operation removal{resource.Key(current.namespace_name(), current.name()), nullptr,
                           store::Precondition::ModRevision(current.revision())};
  auto committing = Commit(scope, std::move(removal), std::move(companions));
  co_return co_await std::move(committing);
}

}  // namespace flyball::server
