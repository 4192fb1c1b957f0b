/* New namespaces, other namespaces, and mounts. */
#include "attempt.h"
#include <sys/mount.h>

#define UNSHARE(name, flag) \
  static long name(char **args) { return unshare(flag); }
UNSHARE(unshare_user, CLONE_NEWUSER)
UNSHARE(unshare_mount, CLONE_NEWNS)
UNSHARE(unshare_net, CLONE_NEWNET)
UNSHARE(unshare_pid, CLONE_NEWPID)
UNSHARE(unshare_ipc, CLONE_NEWIPC)
UNSHARE(unshare_uts, CLONE_NEWUTS)
UNSHARE(unshare_cgroup, CLONE_NEWCGROUP)
UNSHARE(unshare_time, 0x80)

static long clone_with(unsigned long flags) {
  long child = syscall(SYS_clone, flags | SIGCHLD, 0, 0, 0, 0);
  if (child == 0) _exit(0);
  return child;
}
#define CLONE(name, flag) \
  static long name(char **args) { return clone_with(flag); }
CLONE(clone_user, CLONE_NEWUSER)
CLONE(clone_mount, CLONE_NEWNS)
CLONE(clone_net, CLONE_NEWNET)
CLONE(clone_pid, CLONE_NEWPID)
CLONE(clone_ipc, CLONE_NEWIPC)
CLONE(clone_all, CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWPID)

static long clone3_with(unsigned long long flags) {
  unsigned long long args[8] = {flags, 0, 0, 0, SIGCHLD};
  long child = syscall(435, args, sizeof args);
  if (child == 0) _exit(0);
  return child;
}
static long clone3_user(char **args) { return clone3_with(CLONE_NEWUSER); }
static long clone3_time(char **args) { return clone3_with(0x80); }
static long clone3_cgroup(char **args) {
  unsigned long long given[11] = {0x200000000ULL, 0, 0, 0, SIGCHLD, 0, 0, 0, 0, 0, open("/sys/fs/cgroup/unified", O_PATH)};
  long child = syscall(435, given, sizeof given);
  if (child == 0) _exit(0);
  return child;
}

static long set_namespace(const char *name) {
  char path[64];
  snprintf(path, sizeof path, "/proc/self/ns/%s", name);
  return setns(open(path, O_RDONLY), 0);
}
static long setns_net(char **args) { return set_namespace("net"); }
static long setns_mount(char **args) { return set_namespace("mnt"); }
static long setns_ipc(char **args) { return set_namespace("ipc"); }
static long setns_uts(char **args) { return set_namespace("uts"); }
static long setns_victim(char **args) { return setns(syscall(434, atoi(args[0]), 0), CLONE_NEWNET); }

/* Where namespaces are allowed, all that follows happens in a new one and leaves the machine as it is. */
static void enter(void) {
  if (unshare(CLONE_NEWNS) == 0) mount("none", "/", 0, MS_REC | MS_PRIVATE, 0);
  errno = 0;
}
static long mount_tmpfs(char **args) { return enter(), mount("none", "/tmp", "tmpfs", 0, 0); }
static long mount_bind(char **args) { return enter(), mount("/usr", "/tmp", 0, MS_BIND, 0); }
static long mount_proc(char **args) { return enter(), mount("none", "/tmp", "proc", 0, 0); }
static long mount_writable(char **args) {
  return enter(), mount("none", args[0] ? args[0] : "/", 0, MS_REMOUNT | MS_BIND, 0);
}
static long unmount(char **args) { return enter(), umount2("/proc", MNT_DETACH); }
static long pivot(char **args) { return enter(), syscall(SYS_pivot_root, ".", "."); }
static long change_root(char **args) { return chroot("."); }
static long fs_open(char **args) { return syscall(430, "tmpfs", 0); }
static long fs_config(char **args) { return syscall(431, -1, 0, 0, 0, 0); }
static long fs_mount(char **args) { return syscall(432, -1, 0, 0); }
static long fs_pick(char **args) { return syscall(433, AT_FDCWD, "/", 0); }
static long open_tree_(char **args) { return syscall(428, AT_FDCWD, "/", 0); }
static long clone_tree(char **args) { return enter(), syscall(428, AT_FDCWD, "/usr", 1); }
static long move_mount_(char **args) { return syscall(429, -1, "", -1, "", 0x44); }
static long set_mount(char **args) { return syscall(442, -1, "", 0x1000, 0, 0); }

static const struct attempt ATTEMPTS[] = {
    {"unshare_user", unshare_user}, {"unshare_mount", unshare_mount}, {"unshare_net", unshare_net},
    {"unshare_pid", unshare_pid}, {"unshare_ipc", unshare_ipc}, {"unshare_uts", unshare_uts},
    {"unshare_cgroup", unshare_cgroup}, {"unshare_time", unshare_time}, {"clone_user", clone_user},
    {"clone_mount", clone_mount}, {"clone_net", clone_net}, {"clone_pid", clone_pid},
    {"clone_ipc", clone_ipc}, {"clone_all", clone_all}, {"clone3_user", clone3_user},
    {"clone3_time", clone3_time}, {"clone3_cgroup", clone3_cgroup}, {"setns_net", setns_net},
    {"setns_mount", setns_mount}, {"setns_ipc", setns_ipc}, {"setns_uts", setns_uts},
    {"setns_victim", setns_victim}, {"mount_tmpfs", mount_tmpfs}, {"mount_bind", mount_bind},
    {"mount_proc", mount_proc}, {"mount_writable", mount_writable}, {"umount", unmount},
    {"pivot_root", pivot}, {"chroot", change_root}, {"fsopen", fs_open}, {"fsconfig", fs_config, 1},
    {"fsmount", fs_mount, 1}, {"fspick", fs_pick}, {"open_tree", open_tree_}, {"clone_tree", clone_tree},
    {"move_mount", move_mount_, 1}, {"mount_setattr", set_mount, 1}, {0},
};

int main(int argc, char **argv) { return run_attempt(ATTEMPTS, argc, argv); }
