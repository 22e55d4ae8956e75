#include "api/kinds/hooks.h"

namespace flyball::api {
namespace {

using json::Value;

// Claim templates say what they are, though nothing reads it.
void SetDefaults(Value& object) {
  Value* templates = object.FindPath({"spec", "volumeClaimTemplates"});
  if (templates == nullptr || !templates->is_array()) return;
  for (Value& claim : templates->as_array()) {
    claim["kind"] = "PersistentVolumeClaim";
    claim["apiVersion"] = "v1";
  }
}

}  // namespace

const KindHooks kStatefulSetHooks = {
    .group = "apps",
    .kind = "StatefulSet",
    .set_defaults = SetDefaults,
    .generation = true,
};

}  // namespace flyball::api
