#include "api/kinds/shared/hooks.h"

namespace flyball::api {

const KindHooks kServiceAccountHooks = {.group = "", .kind = "ServiceAccount", .return_deleted_object = true};

}  // namespace flyball::api
