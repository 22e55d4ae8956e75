// Keys, certificates and certificate requests: for controllers that issue them, and for those that serve.
#pragma once

#include "net/tls/pki.h"
