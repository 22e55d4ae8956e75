// Loops that make what is into what should be.
#pragma once

#include "base/observe/log.h"
#include "controller/events/event_recorder.h"
#include "controller/leader/leader_elector.h"
#include "controller/main.h"
#include "controller/manager.h"
#include "controller/objects/controller_ref.h"
#include "controller/objects/create_or_apply.h"
#include "controller/objects/expectations.h"
#include "controller/objects/owner.h"
#include "controller/objects/retry.h"
#include "controller/objects/slow_start.h"
#include "controller/queue/work_queue.h"
#include "controller/worker/action.h"
#include "controller/worker/controller.h"
