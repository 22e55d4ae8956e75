// What an agent and a pod's monitor say to each other on `monitor.sock` of the pod's folder, a SOCK_SEQPACKET
// socket: each packet is one letter and then fields, each ended by a zero byte.
//
// To the monitor:
//   R id folder tty stdin log max_size max_files runc root   run the bundle in `folder`
//   A id   send output as O packets; answered by an A packet with the input's descriptor, if there is one
//   D id   no more output
//   L id   send G packets when the log has grown
//   C id   close the container's input
//   Q      end, once no container runs
// From it:
//   S id pid      it runs
//   F id          runc has failed: see runc.log in the folder
//   A id          with SCM_RIGHTS: where its input is written (a terminal's master side, if it has one)
//   O id 1|2 data what it wrote to standard output or error; the last field is not ended
//   G id          its log has grown
//   X id status nanoseconds   it has ended (a wait status, and when: since 1970)
//
// Kept in files of the bundle, each written whole: `pid` (by runc), `exit` ("status nanoseconds").
#pragma once

namespace flyball::node {

inline constexpr char kMonitorSocket[] = "monitor.sock";
inline constexpr int kMaxMonitorPacket = 32768;  // output comes in pieces of 16 KiB
inline constexpr int kMonitorReadSize = 16384;

}  // namespace flyball::node
