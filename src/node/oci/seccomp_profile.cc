#include "node/oci/seccomp_profile.h"

#include "base/files/durable_file.h"
#include "json/json.h"

namespace flyball::node {

json::Value DefaultSeccompProfile() {
  json::Array refused;
  for (const char* name : {"acct",
                           "add_key",
                           "bpf",
                           "clock_adjtime",
                           "clock_settime",
                           "create_module",
                           "delete_module",
                           "finit_module",
                           "fsconfig",
                           "fsmount",
                           "fsopen",
                           "fspick",
                           "get_kernel_syms",
                           "get_mempolicy",
                           "init_module",
                           "io_uring_enter",
                           "io_uring_register",
                           "io_uring_setup",
                           "ioperm",
                           "iopl",
                           "kcmp",
                           "kexec_file_load",
                           "kexec_load",
                           "keyctl",
                           "lookup_dcookie",
                           "mbind",
                           "mount",
                           "mount_setattr",
                           "move_mount",
                           "move_pages",
                           "nfsservctl",
                           "open_by_handle_at",
                           "open_tree",
                           "perf_event_open",
                           "pivot_root",
                           "process_vm_readv",
                           "process_vm_writev",
                           "query_module",
                           "quotactl",
                           "quotactl_fd",
                           "reboot",
                           "request_key",
                           "set_mempolicy",
                           "setns",
                           "settimeofday",
                           "stime",
                           "swapoff",
                           "swapon",
                           "sysfs",
                           "_sysctl",
                           "umount",
                           "umount2",
                           "unshare",
                           "uselib",
                           "userfaultfd",
                           "ustat",
                           "vm86",
                           "vm86old"})
    refused.push_back(name);
  constexpr int kEperm = 1;
  return json::Object{
      {"defaultAction", "SCMP_ACT_ALLOW"},
      {"syscalls", json::Array{json::Object{
                       {"names", std::move(refused)}, {"action", "SCMP_ACT_ERRNO"}, {"errnoRet", kEperm}}}}};
}

Result<json::Value> ReadSeccompProfile(const std::string& path) {
  const auto text = ReadFile(path);
  if (!text)
    return Unexpected(BadRequest("cannot load seccomp profile \"" + path + "\": " + text.error().message()));
  const auto profile = json::Parse(*text);
  if (!profile || !(*profile)["defaultAction"].is_string())
    return Unexpected(BadRequest("decoding seccomp profile failed: \"" + path + "\" is no profile"));
  json::Object out{{"defaultAction", (*profile)["defaultAction"]}};
  for (const char* member : {"architectures", "flags"})
    if (const json::Value* value = profile->Find(member)) out.Set(member, *value);
  json::Array syscalls;
  if ((*profile)["syscalls"].is_array())
    for (const json::Value& rule : (*profile)["syscalls"].as_array()) {
      json::Object known;
      for (const char* member : {"names", "action", "args", "errnoRet"})
        if (const json::Value* value = rule.Find(member)) known.Set(member, *value);
      syscalls.push_back(std::move(known));
    }
  out.Set("syscalls", std::move(syscalls));
  return json::Value(std::move(out));
}

}  // namespace flyball::node
