// HTTP, client and server side: for controllers that talk to something besides the API server.
#pragma once

#include "base/run/task.h"
#include "net/client/http_client.h"
#include "net/http/http.h"
#include "net/server/http_server.h"
