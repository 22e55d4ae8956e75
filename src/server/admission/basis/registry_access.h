// The registry as plugins reach it. It comes after the plugins that it runs.
#pragma once

namespace flyball::server {

class Registry;

// Set before anything is served.
struct RegistryAccess {
  Registry* registry = nullptr;
};

}  // namespace flyball::server
