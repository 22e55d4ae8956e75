// The kinds of the API as plain structs, and the means to make one's own.
#pragma once

#include "api/custom_resource.h"
#include "api/fields.h"
#include "api/types/apiextensions.h"
#include "api/types/apps.h"
#include "api/types/autoscaling.h"
#include "api/types/batch.h"
#include "api/types/coordination.h"
#include "api/types/core.h"
#include "api/types/discovery.h"
#include "api/types/meta.h"
#include "api/types/networking.h"
#include "api/types/policy.h"
#include "api/types/rbac.h"
#include "api/types/scheduling.h"
#include "api/types/storage.h"
