#include "server/catalog/served_forms.h"

#include <algorithm>
#include <utility>

#include "api/custom/custom_object.h"
#include "api/schema/decode.h"
#include "json/json.h"

namespace flyball::server {
namespace {

// How much is sent to a converter at a time: enough to make calls few, little enough to bound one.
constexpr std::size_t kBatchObjects = 500;
constexpr std::size_t kBatchBytes = 4u << 20;

// The object as it is already known in this version; null if it has to be converted.
ObjectPtr KnownForm(const ServedResource& resource, const std::string& api_version, const ObjectPtr& object) {
  if (!object->IsOf(api_version)) return object->FormOf(api_version);
  if (resource.IsStorageVersion()) return object;
  if (auto form = object->FormOf(api_version)) return form;
  // Stored as this version before another became the storage version: its selectable fields are others.
  auto form = StoredObject::Build(object->bytes(), object->revision(), *resource.kind);
  if (!form) return nullptr;
  object->KeepForm(api_version, *form);
  return *form;
}

ObjectPtr MakeForm(const ServedResource& resource, const StoredObject& from, json::Value value) {
  Bytes bytes = EncodeCustomObject(*resource.kind, value);
  return StoredObject::FromValue(value, std::move(bytes), from.revision(), *resource.kind);
}

// The objects with these numbers, converted and put in their places.
Task<Status> ConvertBatch(const ServedResource& resource, const std::vector<std::size_t>& batch,
                          std::vector<ObjectPtr>& objects, Executor& resume) {
  const std::string api_version = resource.kind->ApiVersion();
  std::vector<json::Value> values;
  values.reserve(batch.size());
  for (const std::size_t i : batch) values.push_back(objects[i]->ToValue());
  auto converting = resource.converter->Convert(std::move(values), api_version, resume);
  FLYBALL_CO_ASSIGN(std::vector<json::Value> converted, co_await std::move(converting));
  for (std::size_t i = 0; i < batch.size(); ++i) {
    ObjectPtr& object = objects[batch[i]];
    ObjectPtr form = MakeForm(resource, *object, std::move(converted[i]));
    if (resource.converter->IsRemote()) object->KeepForm(api_version, form);
    object = std::move(form);
  }
  co_return Status();
}

}  // namespace

Task<Result<std::vector<ObjectPtr>>> ServedForms(const ServedResource& resource,
                                                 std::vector<ObjectPtr> objects, Executor& resume) {
  if (!resource.selects_converted) co_return objects;
  const std::string api_version = resource.kind->ApiVersion();
  std::vector<std::size_t> batch;
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < objects.size(); ++i) {
    if (auto known = KnownForm(resource, api_version, objects[i])) {
      objects[i] = std::move(known);
      continue;
    }
    batch.push_back(i);
    bytes += objects[i]->size();
    if (batch.size() < kBatchObjects && bytes < kBatchBytes) continue;
    FLYBALL_CO_TRY(co_await ConvertBatch(resource, batch, objects, resume));
    batch.clear();
    bytes = 0;
  }
  if (!batch.empty()) FLYBALL_CO_TRY(co_await ConvertBatch(resource, batch, objects, resume));
  co_return objects;
}

Task<Result<ObjectPtr>> ServedForm(const ServedResource& resource, ObjectPtr object, Executor& resume) {
  std::vector<ObjectPtr> one{std::move(object)};
  auto converting = ServedForms(resource, std::move(one), resume);
  FLYBALL_CO_ASSIGN(std::vector<ObjectPtr> forms, co_await std::move(converting));
  co_return std::move(forms.front());
}

Task<Result<json::Value>> WorkingValue(const ServedResource& resource, const StoredObject& object,
                                       Executor& resume) {
  json::Value value = object.ToValue();
  if (!resource.converter || object.IsOf(resource.kind->ApiVersion())) co_return value;
  if (const auto form = object.FormOf(resource.kind->ApiVersion()))
    co_return form->ToValue(object.revision());
  std::vector<json::Value> one;
  one.push_back(std::move(value));
  const std::string api_version = resource.kind->ApiVersion();
  auto converting = resource.converter->Convert(std::move(one), api_version, resume);
  FLYBALL_CO_ASSIGN(std::vector<json::Value> converted, co_await std::move(converting));
  co_return std::move(converted.front());
}

Bytes EncodeCustomObject(const api::KindInfo& kind, json::Value& object) {
  object["metadata"].as_object().Erase("resourceVersion");
  api::Canonicalize(kind.Type(), object);
  json::Object ordered;
  for (const std::string_view key : {"apiVersion", "kind", "metadata"})
    if (auto* value = object.Find(key)) ordered.Set(key, std::move(*value));
  for (auto& [key, value] : object.as_object())
    if (!ordered.contains(key)) ordered.Append(key, std::move(value));
  object = std::move(ordered);
  return MakeBytes(json::Write(object));
}

Bytes EncodeStoredCustom(const api::KindInfo& kind, json::Value& object) {
  api::DefaultCustomObject(kind.Type(), object);
  return EncodeCustomObject(kind, object);
}

}  // namespace flyball::server
