// API priority and fairness: the schema's rules, and that changes are counted.
#include "api/kinds/hooks.h"

namespace flyball::api {

const KindHooks kFlowSchemaHooks = {.group = "flowcontrol.apiserver.k8s.io",
                                    .kind = "FlowSchema",
                                    .status_keeps_metadata = true,
                                    .generation = true};
const KindHooks kPriorityLevelConfigurationHooks = {.group = "flowcontrol.apiserver.k8s.io",
                                                    .kind = "PriorityLevelConfiguration",
                                                    .status_keeps_metadata = true,
                                                    .generation = true};

}  // namespace flyball::api
