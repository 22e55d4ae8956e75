// Loops that make what is into what should be.
#pragma once

#include "base/log.h"
#include "controller/action.h"
#include "controller/controller.h"
#include "controller/controller_ref.h"
#include "controller/create_or_apply.h"
#include "controller/event_recorder.h"
#include "controller/expectations.h"
#include "controller/leader_elector.h"
#include "controller/main.h"
#include "controller/manager.h"
#include "controller/owner.h"
#include "controller/retry.h"
#include "controller/slow_start.h"
#include "controller/work_queue.h"
