// Local copies of what an API server holds.
#pragma once

#include "informer/informer_factory.h"
#include "informer/shared_informer.h"
