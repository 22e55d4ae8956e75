// What static libraries built on Debian 12 use of the C library and older ones lack. libc_stubs.py says how
// the rest is found. The functions take the machine's own where there is one, if that makes a difference.
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <spawn.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

// Constructors. Since 2.34 the C library finds those of the program by itself, and the start-up code no
// longer names them. Older ones call what they are given.
extern void (*__init_array_start[])(int, char**, char**) __attribute__((visibility("hidden")));
extern void (*__init_array_end[])(int, char**, char**) __attribute__((visibility("hidden")));
extern void _init(void);

static void RunConstructors(int argc, char** argv, char** environment) {
  _init();
  const size_t count = (size_t)(__init_array_end - __init_array_start);
  for (size_t i = 0; i < count; ++i) __init_array_start[i](argc, argv, environment);
}

typedef int (*Main)(int, char**, char**);
int __real___libc_start_main(Main main, int argc, char** argv, void (*init)(int, char**, char**),
                             void (*fini)(void), void (*end_of_loader)(void), void* stack_end);
int __wrap___libc_start_main(Main main, int argc, char** argv, void (*init)(int, char**, char**),
                             void (*fini)(void), void (*end_of_loader)(void), void* stack_end) {
  (void)init;
  return __real___libc_start_main(main, argc, argv, &RunConstructors, fini, end_of_loader, stack_end);
}

// 2.32. Not zero only as long as there is one thread: zero is always safe.
char __libc_single_threaded = 0;

// 2.33: until then, each was a macro for a function with a version number.
int __xstat(int version, const char* path, struct stat* to);
int __lxstat(int version, const char* path, struct stat* to);
int __fxstat(int version, int file, struct stat* to);
int __fxstatat(int version, int folder, const char* path, struct stat* to, int flags);
int __xmknod(int version, const char* path, mode_t mode, dev_t* device);
enum { kStatVersion = 1, kMknodVersion = 0 };

int stat(const char* path, struct stat* to) {
  return __xstat(kStatVersion, path, to);
}
int lstat(const char* path, struct stat* to) {
  return __lxstat(kStatVersion, path, to);
}
int fstat(int file, struct stat* to) {
  return __fxstat(kStatVersion, file, to);
}
int fstatat(int folder, const char* path, struct stat* to, int flags) {
  return __fxstatat(kStatVersion, folder, path, to, flags);
}
int stat64(const char* path, struct stat64* to) {
  return __xstat(kStatVersion, path, (struct stat*)to);
}
int lstat64(const char* path, struct stat64* to) {
  return __lxstat(kStatVersion, path, (struct stat*)to);
}
int fstat64(int file, struct stat64* to) {
  return __fxstat(kStatVersion, file, (struct stat*)to);
}
int fstatat64(int folder, const char* path, struct stat64* to, int flags) {
  return __fxstatat(kStatVersion, folder, path, (struct stat*)to, flags);
}
int mknod(const char* path, mode_t mode, dev_t device) {
  return __xmknod(kMknodVersion, path, mode, &device);
}
int __xmknodat(int version, int folder, const char* path, mode_t mode, dev_t* device);
int mknodat(int folder, const char* path, mode_t mode, dev_t device) {
  return __xmknodat(kMknodVersion, folder, path, mode, &device);
}

// 2.28. The same call, for programs with a 64-bit off_t, which is the only one here.
int fcntl(int file, int command, ...);
int fcntl64(int file, int command, void* argument) {
  return fcntl(file, command, argument);
}

// 2.36.
uint32_t arc4random(void) {
  uint32_t value = 0;
  if (getrandom(&value, sizeof value, 0) != (ssize_t)sizeof value) abort();
  return value;
}

// The machine's own, if it has it; looked up once.
#define OWN(type, name)                                                     \
  static type own = 0;                                                      \
  static int looked = 0;                                                    \
  if (!__atomic_load_n(&looked, __ATOMIC_ACQUIRE)) {                        \
    __atomic_store_n(&own, (type)dlsym(RTLD_NEXT, name), __ATOMIC_RELAXED); \
    __atomic_store_n(&looked, 1, __ATOMIC_RELEASE);                         \
  }

// 2.30. The older way waits by the clock of the day: if that is set meanwhile, the wait is longer or shorter.
typedef int (*ClockWait)(pthread_cond_t*, pthread_mutex_t*, clockid_t, const struct timespec*);
int pthread_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t clock,
                           const struct timespec* until) {
  OWN(ClockWait, "pthread_cond_clockwait")
  if (own) return own(condition, mutex, clock, until);
  const long kSecond = 1000000000;
  struct timespec now, day;
  clock_gettime(clock, &now);
  clock_gettime(CLOCK_REALTIME, &day);
  day.tv_sec += until->tv_sec - now.tv_sec;
  day.tv_nsec += until->tv_nsec - now.tv_nsec;
  if (day.tv_nsec < 0) day.tv_nsec += kSecond, --day.tv_sec;
  if (day.tv_nsec >= kSecond) day.tv_nsec -= kSecond, ++day.tv_sec;
  return pthread_cond_timedwait(condition, mutex, &day);
}

// 2.32.
const char* sigabbrev_np(int signal) {
  static const char* const kNames[] = {0,        "HUP",  "INT",    "QUIT", "ILL",   "TRAP", "ABRT", "BUS",
                                       "FPE",    "KILL", "USR1",   "SEGV", "USR2",  "PIPE", "ALRM", "TERM",
                                       "STKFLT", "CHLD", "CONT",   "STOP", "TSTP",  "TTIN", "TTOU", "URG",
                                       "XCPU",   "XFSZ", "VTALRM", "PROF", "WINCH", "POLL", "PWR",  "SYS"};
  return signal > 0 && signal < (int)(sizeof kNames / sizeof kNames[0]) ? kNames[signal] : 0;
}

// 2.34. The older way closes what is open now; a file that another thread opens meanwhile is closed by its
// own mark (close-on-exec), which everything that Flyball opens has.
typedef int (*AddCloseFrom)(posix_spawn_file_actions_t*, int);
int posix_spawn_file_actions_addclosefrom_np(posix_spawn_file_actions_t* actions, int first) {
  OWN(AddCloseFrom, "posix_spawn_file_actions_addclosefrom_np")
  if (own) return own(actions, first);
  DIR* folder = opendir("/proc/self/fd");
  if (!folder) return errno;
  int failed = 0;
  for (struct dirent* entry; !failed && (entry = readdir(folder));) {
    const int file = atoi(entry->d_name);
    if (file >= first && file != dirfd(folder)) failed = posix_spawn_file_actions_addclose(actions, file);
  }
  closedir(folder);
  return failed;
}

// 2.35. How exceptions find the tables of a function.
typedef int (*FindObject)(void*, struct dl_find_object*);

struct Search {
  ElfW(Addr) address;
  struct dl_find_object* found;
};

static int Look(struct dl_phdr_info* object, size_t size, void* data) {
  (void)size;
  struct Search* search = data;
  int contains = 0;
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const ElfW(Phdr)* part = &object->dlpi_phdr[i];
    const ElfW(Addr) start = object->dlpi_addr + part->p_vaddr;
    if (part->p_type == PT_GNU_EH_FRAME) search->found->dlfo_eh_frame = (void*)start;
    if (part->p_type != PT_LOAD || search->address < start || search->address >= start + part->p_memsz)
      continue;
    contains = 1;
    search->found->dlfo_map_start = (void*)start;
    search->found->dlfo_map_end = (void*)(start + part->p_memsz);
  }
  if (contains) return search->found->dlfo_eh_frame ? 1 : -1;
  search->found->dlfo_eh_frame = 0;
  return 0;
}

int _dl_find_object(void* address, struct dl_find_object* found) {
  OWN(FindObject, "_dl_find_object")
  if (own) return own(address, found);
  memset(found, 0, sizeof *found);
  struct Search search = {(ElfW(Addr))address, found};
  return dl_iterate_phdr(&Look, &search) == 1 ? 0 : -1;
}
