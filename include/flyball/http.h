// HTTP, client and server side: for controllers that talk to something besides the API server.
#pragma once

#include "base/task.h"
#include "net/http.h"
#include "net/http_client.h"
#include "net/http_server.h"
