// ObjectType: how to handle objects whose C++ type is not known: decode them from JSON and get their names.
// The reflector, the delta queue, the store and the dispatch are compiled once, for shared pointers to const
// void; SharedInformer<T> and others are thin typed views of them.
#pragma once

#include <memory>
#include <string_view>

#include "api/types/object_access.h"
#include "base/values/result.h"
#include "client/kind_ref.h"
#include "client/unstructured.h"
#include "json/value.h"

namespace flyball {

using ObjectPtr = std::shared_ptr<const void>;
using MutableObjectPtr = std::shared_ptr<void>;

// In which form lists and watches request objects.
enum class ObjectForm { kWhole, kMetadataOnly };

// One static instance per type. Thread-safe.
struct ObjectType {
  Result<MutableObjectPtr> (*decode)(json::Value value);
  // Views into the object.
  MetaView (*meta)(const void* object);
  ObjectForm form = ObjectForm::kWhole;
  // Items of lists lack apiVersion and kind; fills them in for types that keep them.
  bool needs_type_meta = false;
};

namespace informer_internal {

template <typename T>
Result<MutableObjectPtr> DecodeObject(json::Value value) {
  auto object = std::make_shared<T>();
  if constexpr (std::is_same_v<T, Unstructured>) {
    *object = Unstructured(std::move(value));
  } else {
    if (Status s = FromJson(value, object.get()); !s) return Unexpected(s.error());
  }
  return MutableObjectPtr(std::move(object));
}

template <typename T>
MetaView ReadMeta(const void* object) {
  return MetaOf(*static_cast<const T*>(object));
}

}  // namespace informer_internal

template <typename T>
const ObjectType& ObjectTypeOf() {
  static constexpr ObjectType type{
      .decode = &informer_internal::DecodeObject<T>,
      .meta = &informer_internal::ReadMeta<T>,
      .form = std::is_same_v<T, PartialObject> ? ObjectForm::kMetadataOnly : ObjectForm::kWhole,
      .needs_type_meta = std::is_base_of_v<Unstructured, T>};
  return type;
}

}  // namespace flyball
