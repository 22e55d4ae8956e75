// JSON bodies on their way into the server: decoding, defaults, a kind's own preparation and validation. Any
// value is taken or refused; the canonical form is canonical. The first byte chooses the kind.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "api/rules/kind_hooks.h"
#include "api/rules/object_meta.h"
#include "api/rules/validate.h"
#include "api/schema/decode.h"
#include "api/schema/defaults.h"
#include "json/json.h"

namespace {

using namespace flyball;

void RunHooks(const api::KindInfo& kind, json::Value object) {
  const api::KindHooks& hooks = api::HooksFor(kind.group, kind.kind);
  const json::Value old = object;
  api::ApplyDefaults(*kind.type, object);
  if (hooks.set_defaults != nullptr) hooks.set_defaults(object);
  if (hooks.prepare_for_create != nullptr) hooks.prepare_for_create(object);
  api::Canonicalize(*kind.type, object);
  if (hooks.prepare_for_update != nullptr) hooks.prepare_for_update(object, old);
  api::Canonicalize(*kind.type, object);
  api::FieldErrors errors;
  api::ValidateObjectMetaForCreate(kind, hooks, object["metadata"], errors);
  api::ValidateObjectMetaForUpdate(kind, hooks, object["metadata"], old["metadata"], errors);
  api::Validate(*kind.type, object, api::FieldPath(), errors);
  api::ValidateImmutable(*kind.type, object, old, api::FieldPath(), errors);
  if (hooks.validate != nullptr) hooks.validate(object, errors);
  if (hooks.validate_update != nullptr) hooks.validate_update(object, old, errors);
  if (hooks.validate_status_update != nullptr) hooks.validate_status_update(object, old, errors);
  if (!errors.empty()) errors.ToError(kind.group, kind.kind, "name");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const auto kinds = api::BuiltinKinds();
  const api::KindInfo& kind = kinds[data[0] % kinds.size()];
  auto object = json::Parse(std::string_view(reinterpret_cast<const char*>(data) + 1, size - 1));
  if (!object) return 0;
  api::DecodeContext context;
  if (!api::Decode(*kind.type, *object, context)) return 0;
  const std::string once = json::Write(*object);
  api::Canonicalize(*kind.type, *object);
  if (json::Write(*object) != once) std::abort();
  if (object->is_object()) RunHooks(kind, std::move(*object));
  return 0;
}
