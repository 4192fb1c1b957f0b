/* Ways to reach other processes: sockets, shared memory, queues, signals, other system call tables. */
#include "attempt.h"
#include <arpa/inet.h>
#include <mqueue.h>
#include <sys/inotify.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/resource.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/un.h>

/* socket FAMILY TYPE PROTOCOL */
static long new_socket(char **args) { return socket(atoi(args[0]), atoi(args[1]), atoi(args[2])); }
static long wide_socket(char **args) { return syscall(SYS_socket, 0x100000000UL | AF_NETLINK, SOCK_RAW, 0); }
static long pair(char **args) {
  int pair[2];
  return socketpair(atoi(args[0]), SOCK_STREAM, 0, pair);
}
static long connect_unix(char **args) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  strncpy(address.sun_path, args[0], sizeof address.sun_path - 1);
  socklen_t length = offsetof(struct sockaddr_un, sun_path) + strlen(args[0]);
  /* An @ stands for the first byte of an abstract name. */
  if (args[0][0] == '@') address.sun_path[0] = 0;
  return connect(socket(AF_UNIX, SOCK_STREAM, 0), (void *)&address, length);
}
static long connect_inet(char **args) {
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(atoi(args[0]))};
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return connect(socket(AF_INET, SOCK_STREAM, 0), (void *)&address, sizeof address);
}
/* To an address for documents (RFC 5737), to which a machine with a network sends it. */
static long datagram(char **args) {
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(9), .sin_addr.s_addr = htonl(0xc0000201)};
  return sendto(socket(AF_INET, SOCK_DGRAM, 0), "x", 1, 0, (void *)&address, sizeof address);
}
/* make MAKES, and find FINDS, an object of System V or POSIX. */
static key_t key(char **args) { return (key_t)strtol(args[0], 0, 10); }
static long make_shm(char **args) { return shmget(key(args), 4096, IPC_CREAT | IPC_EXCL | 0666); }
static long find_shm(char **args) { return shmget(key(args), 0, 0); }
static long drop_shm(char **args) { return shmctl(find_shm(args), IPC_RMID, 0); }
static long make_sem(char **args) { return semget(key(args), 1, IPC_CREAT | IPC_EXCL | 0666); }
static long find_sem(char **args) { return semget(key(args), 0, 0); }
static long drop_sem(char **args) { return semctl(find_sem(args), 0, IPC_RMID); }
static long make_msg(char **args) { return msgget(key(args), IPC_CREAT | IPC_EXCL | 0666); }
static long find_msg(char **args) { return msgget(key(args), 0); }
static long drop_msg(char **args) { return msgctl(find_msg(args), IPC_RMID, 0); }
static long make_mq(char **args) { return mq_open(args[0], O_CREAT | O_EXCL | O_RDWR, 0666, NULL); }
static long find_mq(char **args) { return mq_open(args[0], O_RDONLY); }
static long drop_mq(char **args) { return mq_unlink(args[0]); }

static pid_t pid(char **args) { return (pid_t)atoi(args[0]); }
static long signal_pid(char **args) { return kill(pid(args), 0); }
static long kill_pid(char **args) { return kill(pid(args), SIGKILL); }
static long kill_group(char **args) { return kill(-pid(args), SIGKILL); }
static long signal_thread(char **args) { return syscall(SYS_tgkill, pid(args), pid(args), 0); }
static long open_pid(char **args) { return syscall(434, pid(args), 0); }
static long limit_pid(char **args) {
  struct rlimit limit;
  return prlimit(pid(args), RLIMIT_NOFILE, NULL, &limit);
}
static long pin_pid(char **args) {
  cpu_set_t set;
  return sched_getaffinity(pid(args), sizeof set, &set);
}
/* The CPUs that it has already. */
static long repin_pid(char **args) {
  cpu_set_t set;
  if (sched_getaffinity(pid(args), sizeof set, &set) < 0) return -1;
  return sched_setaffinity(pid(args), sizeof set, &set);
}
static long watch(char **args) { return inotify_add_watch(inotify_init1(0), args[0], IN_ALL_EVENTS); }
static long renice_pid(char **args) { return setpriority(PRIO_PROCESS, pid(args), 1); }
static long queue_pid(char **args) {
  union sigval value = {0};
  return sigqueue(pid(args), 0, value);
}
static long session_of(char **args) { return getsid(pid(args)); }

/* Runs a program that is only in memory: it is confined as any other. */
static long run_in_memory(char **args) {
  int from = open(args[0], O_RDONLY), to = syscall(SYS_memfd_create, "program", 0);
  char bytes[65536];
  for (ssize_t read_; (read_ = read(from, bytes, sizeof bytes)) > 0;) write(to, bytes, read_);
  char *environment[] = {NULL};
  return fexecve(to, args, environment);
}
static long setuid_mode(char **args) { return chmod(args[0], 04755); }
static long setuid_mode_fd(char **args) { return fchmod(open(args[0], O_RDONLY), 06755); }
static long setuid_mode_at(char **args) { return fchmodat(AT_FDCWD, args[0], 02755, 0); }
static long setuid_mode_at2(char **args) { return syscall(452, AT_FDCWD, args[0], 04755, 0); }
static long setuid_new(char **args) { return open(args[1], O_CREAT | O_RDWR, 04755); }
static long setuid_new_old(char **args) {
#ifdef SYS_creat
  return syscall(SYS_creat, args[1], 04755);
#else
  return syscall(SYS_openat, AT_FDCWD, args[1], O_CREAT | O_RDWR, 04755);
#endif
}
static long setuid_new2(char **args) {
  unsigned long long how[3] = {O_CREAT | O_RDWR, 04755, 0};
  return syscall(437, AT_FDCWD, args[1], how, sizeof how);
}
static long setuid_node(char **args) { return mknod(args[1], 0104755, 0); }

#ifdef __x86_64__
static long int80(long number, long a, long b, long c) {
  long result;
  __asm__ volatile("int $0x80" : "=a"(result) : "a"(number), "b"(a), "c"(b), "d"(c) : "memory", "r8", "r9", "r10", "r11");
  if (result < 0) errno = -result;
  return result;
}
/* Pointers of 32 bits need memory that is mapped low. */
static char *low(const char *text) {
  char *at = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
  return strcpy(at, text);
}
static long old_getpid(char **args) { return int80(20, 0, 0, 0); }
static long old_socket(char **args) { return int80(359, AF_INET, SOCK_STREAM, 0); }
static long old_socketcall(char **args) {
  unsigned *given = (unsigned *)low("");
  given[0] = AF_INET, given[1] = SOCK_STREAM, given[2] = 0;
  return int80(102, 1, (long)given, 0);
}
static long old_open(char **args) { return int80(5, (long)low("/usr"), O_RDONLY, 0); }
static long old_ptrace(char **args) { return int80(26, 0, 0, 0); }
static long old_unshare(char **args) { return int80(310, CLONE_NEWNET, 0, 0); }
static long old_keyctl(char **args) { return int80(288, 0, -3, 1); }
static long x32_getpid(char **args) { return syscall(0x40000000 + SYS_getpid); }
static long x32_ptrace(char **args) { return syscall(0x40000000 + 521, 0, 0, 0, 0); }
#endif

static const struct attempt ATTEMPTS[] = {
    {"socket", new_socket, 0}, {"wide_socket", wide_socket}, {"datagram", datagram}, {"pair", pair, 1}, {"connect_unix", connect_unix},
    {"connect_inet", connect_inet}, {"make_shm", make_shm}, {"find_shm", find_shm}, {"drop_shm", drop_shm},
    {"make_sem", make_sem}, {"find_sem", find_sem}, {"drop_sem", drop_sem}, {"make_msg", make_msg},
    {"find_msg", find_msg}, {"drop_msg", drop_msg}, {"make_mq", make_mq}, {"find_mq", find_mq},
    {"drop_mq", drop_mq}, {"signal", signal_pid}, {"kill", kill_pid}, {"kill_group", kill_group},
    {"tgkill", signal_thread}, {"pidfd_open", open_pid}, {"prlimit", limit_pid}, {"affinity", pin_pid},
    {"set_affinity", repin_pid}, {"watch", watch},
    {"setpriority", renice_pid}, {"sigqueue", queue_pid}, {"getsid", session_of},
    {"memfd", run_in_memory}, {"setuid_chmod", setuid_mode}, {"setuid_fchmod", setuid_mode_fd},
    {"setuid_fchmodat", setuid_mode_at}, {"setuid_fchmodat2", setuid_mode_at2}, {"setuid_open", setuid_new},
    {"setuid_creat", setuid_new_old}, {"setuid_openat2", setuid_new2}, {"setuid_mknod", setuid_node},
#ifdef __x86_64__
    {"int80_getpid", old_getpid}, {"int80_socket", old_socket}, {"int80_socketcall", old_socketcall},
    {"int80_open", old_open}, {"int80_ptrace", old_ptrace}, {"int80_unshare", old_unshare},
    {"int80_keyctl", old_keyctl}, {"x32_getpid", x32_getpid}, {"x32_ptrace", x32_ptrace},
#endif
    {0},
};

int main(int argc, char **argv) { return run_attempt(ATTEMPTS, argc, argv); }
