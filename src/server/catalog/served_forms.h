// Objects of custom kinds as the versions they are served in. What another server has converted is kept with
// the stored object, so that it is asked once for each version of each object.
#pragma once

#include <vector>

#include "base/run/executor.h"
#include "base/run/task.h"
#include "base/values/bytes.h"
#include "base/values/result.h"
#include "json/value.h"
#include "server/cache/stored_object.h"
#include "server/catalog/catalog.h"

namespace flyball::server {

// The objects as `resource` serves them, in the same order, with its selectable fields. They stay as they are
// if the kind has one version. Resumes on `resume`; an Error is the converter's.
Task<Result<std::vector<ObjectPtr>>> ServedForms(const ServedResource& resource,
                                                 std::vector<ObjectPtr> objects, Executor& resume);
Task<Result<ObjectPtr>> ServedForm(const ServedResource& resource, ObjectPtr object, Executor& resume);

// One object as the version of this resource: a value to work with.
Task<Result<json::Value>> WorkingValue(const ServedResource& resource, const StoredObject& object,
                                       Executor& resume);

// The bytes of a custom object as they are stored: without its resourceVersion, and apiVersion, kind and
// metadata first, where StoredObject looks for them. `object` is left in that order.
Bytes EncodeCustomObject(const api::KindInfo& kind, json::Value& object);
// The same of an object of the storage version that is to be stored: a part that was taken away (the status
// of a new object) has its defaults again when it is read.
Bytes EncodeStoredCustom(const api::KindInfo& kind, json::Value& object);

}  // namespace flyball::server
