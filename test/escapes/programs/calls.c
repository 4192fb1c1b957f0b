/* System calls that a confined program must not make. They are harmless where they are allowed. */
#include "attempt.h"
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/timex.h>
#include <sys/uio.h>

#define CALL(name, ...) \
  static long name(char **args) { return syscall(__VA_ARGS__); }

static char buffer[256];
static struct iovec here = {buffer, sizeof buffer};

static long ptrace_attach(char **args) { return ptrace(PTRACE_ATTACH, start_child(), 0, 0); }
static long ptrace_seize(char **args) { return ptrace(PTRACE_SEIZE, start_child(), 0, 0); }
static long ptrace_me(char **args) { return ptrace(PTRACE_TRACEME, 0, 0, 0); }
static long vm_read(char **args) {
  struct iovec there = here;
  return process_vm_readv(start_child(), &here, 1, &there, 1, 0);
}
static long vm_write(char **args) {
  struct iovec there = here;
  return process_vm_writev(start_child(), &here, 1, &there, 1, 0);
}
static long pidfd_getfd_(char **args) {
  return syscall(438, syscall(434, start_child(), 0), 1, 0);
}
static long perf(char **args) {
  struct perf_event_attr attr = {.type = PERF_TYPE_SOFTWARE, .size = sizeof attr, .config = PERF_COUNT_SW_CPU_CLOCK};
  return syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0);
}
static long bpf_map(char **args) {
  union bpf_attr attr = {.map_type = BPF_MAP_TYPE_ARRAY, .key_size = 4, .value_size = 4, .max_entries = 1};
  return syscall(SYS_bpf, BPF_MAP_CREATE, &attr, sizeof attr);
}
static long uring(char **args) {
  char parameters[120] = {0};
  return syscall(425, 4, parameters);
}
static long adjust_clock(char **args) {
  struct timex times = {0};
  return syscall(SYS_adjtimex, &times);
}
static long adjust_any_clock(char **args) {
  struct timex times = {0};
  return syscall(SYS_clock_adjtime, 0, &times);
}
static long host_name(char **args) {
  gethostname(buffer, sizeof buffer);
  return sethostname(buffer, strlen(buffer));
}
static long domain_name(char **args) {
  getdomainname(buffer, sizeof buffer);
  return setdomainname(buffer, strlen(buffer));
}
static long file_handle(char **args) {
  struct { struct file_handle handle; char bytes[128]; } found = {.handle = {.handle_bytes = 128}};
  int mount;
  return name_to_handle_at(AT_FDCWD, "/", &found.handle, &mount, 0);
}
/* Opens what the root of the file system has by the numbers of inodes, as "shocker" did. */
static long open_handle(char **args) {
  struct { struct file_handle handle; char bytes[128]; } root = {.handle = {.handle_bytes = 8, .handle_type = 1}};
  unsigned inode[2] = {2, 0};
  memcpy(root.handle.f_handle, inode, 8);
  int here = open(args[0] ? args[0] : ".", O_RDONLY);
  return open_by_handle_at(here, &root.handle, O_RDONLY);
}
static long core_dumps(char **args) {
  struct rlimit unlimited = {RLIM_INFINITY, RLIM_INFINITY};
  return setrlimit(RLIMIT_CORE, &unlimited);
}
static long terminal_input(unsigned long request) {
  int controller = posix_openpt(O_RDWR | O_NOCTTY);
  grantpt(controller);
  unlockpt(controller);
  setsid();
  int terminal = open(ptsname(controller), O_RDWR);
  ioctl(terminal, TIOCSCTTY, 0);
  return syscall(SYS_ioctl, terminal, request, "x");
}
static long tiocsti(char **args) { return terminal_input(TIOCSTI); }
static long tiocsti_wide(char **args) { return terminal_input(0x100000000UL | TIOCSTI); }
static long tioclinux(char **args) { return terminal_input(0x541c); }

CALL(kcmp_, SYS_kcmp, getpid(), getpid(), 0, 0, 1)
CALL(advise, 440, -1, &here, 1, 20, 0)
CALL(keyring, SYS_keyctl, 0, -3, 1)
CALL(join_keyring, SYS_keyctl, 1, 0)
CALL(new_key, SYS_add_key, "user", "sandgate", "x", 1, -2)
CALL(ask_key, SYS_request_key, "user", "sandgate-none", 0, 0)
CALL(fault, SYS_userfaultfd, O_CLOEXEC)
CALL(uring_enter, 426, -1, 0, 0, 0, 0, 0)
CALL(uring_register, 427, -1, 0, 0, 0)
CALL(load_module, SYS_init_module, 0, 0, "")
CALL(load_module_file, SYS_finit_module, -1, "", 0)
CALL(unload_module, SYS_delete_module, "sandgate_none", O_NONBLOCK)
CALL(restart, SYS_reboot, 0, 0, 0, 0)
CALL(swap_on, SYS_swapon, "/none", 0)
CALL(swap_off, SYS_swapoff, "/none")
CALL(set_time, SYS_settimeofday, 0, 0)
CALL(set_clock, SYS_clock_settime, -1, 0)
CALL(account, SYS_acct, "/none")
CALL(quota, SYS_quotactl, 0x800001 << 8, 0, 0, 0)
CALL(quota_fd, 443, -1, 0, 0, 0)
CALL(kernel_log, SYS_syslog, 3, buffer, sizeof buffer)
CALL(fanotify, SYS_fanotify_init, 0, O_RDONLY)
CALL(migrate, SYS_migrate_pages, 0, 0, 0, 0)
CALL(move, SYS_move_pages, 0, 0, 0, 0, 0, 0)
CALL(secret_memory, 447, 0)
CALL(no_randomisation, SYS_personality, 0x0040000)
CALL(executable_reads, SYS_personality, 0x0400000)
#ifdef __x86_64__
CALL(ldt, SYS_modify_ldt, 0, buffer, sizeof buffer)
CALL(ports, SYS_ioperm, 0x80, 1, 0)
CALL(all_ports, SYS_iopl, 0)
#endif

static const struct attempt ATTEMPTS[] = {
    {"ptrace_attach", ptrace_attach}, {"ptrace_seize", ptrace_seize}, {"ptrace_me", ptrace_me},
    {"vm_read", vm_read}, {"vm_write", vm_write}, {"pidfd_getfd", pidfd_getfd_}, {"kcmp", kcmp_},
    {"process_madvise", advise, 1}, {"keyring", keyring}, {"join_keyring", join_keyring},
    {"add_key", new_key}, {"request_key", ask_key, 1}, {"perf_event_open", perf}, {"bpf", bpf_map},
    {"userfaultfd", fault}, {"io_uring_setup", uring, 1}, {"io_uring_enter", uring_enter, 1},
    {"io_uring_register", uring_register, 1}, {"init_module", load_module, 1},
    {"finit_module", load_module_file, 1}, {"delete_module", unload_module, 1}, {"reboot", restart, 1},
    {"swapon", swap_on, 1}, {"swapoff", swap_off, 1}, {"settimeofday", set_time},
    {"clock_settime", set_clock, 1}, {"adjtimex", adjust_clock}, {"clock_adjtime", adjust_any_clock},
    {"acct", account, 1}, {"quotactl", quota, 1}, {"quotactl_fd", quota_fd, 1}, {"syslog", kernel_log},
    {"fanotify_init", fanotify}, {"migrate_pages", migrate, 1}, {"move_pages", move, 1},
    {"memfd_secret", secret_memory}, {"sethostname", host_name}, {"setdomainname", domain_name},
    {"name_to_handle_at", file_handle}, {"open_by_handle_at", open_handle, 1},
    {"setrlimit_core", core_dumps}, {"personality_aslr", no_randomisation},
    {"personality_exec", executable_reads}, {"tiocsti", tiocsti}, {"tiocsti_wide", tiocsti_wide},
    {"tioclinux", tioclinux, 1},
#ifdef __x86_64__
    {"modify_ldt", ldt}, {"ioperm", ports}, {"iopl", all_ports},
#endif
    {0},
};

int main(int argc, char **argv) { return run_attempt(ATTEMPTS, argc, argv); }
