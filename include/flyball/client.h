// Talking to an API server.
#pragma once

#include "client/client.h"
#include "client/config.h"
#include "client/discovery.h"
#include "client/rest_client.h"
#include "client/unstructured.h"
#include "client/watch.h"
