/*
 * The first process of a machine, once the init script has set it up. For each call it has pipes, processes that copy
 * between them and the ports, and one that becomes the command. The machine is saved while they wait for the message of
 * a call, and QEMU translates code when it first runs: this program makes as little of the kernel's code as possible run
 * in a call.
 *
 * It has no C library. `scripts/first-process.ts` compiles it, with these macros from `first-process.ts`: the layout of
 * the message (AT_name, BYTES_name), MESSAGE_BYTES, PROGRAM_PATHS, GUEST_USER_ID, READY, GROUP and PEAK_FILE.
 */

typedef unsigned long size;

#if defined(__x86_64__)
/* arch/x86/entry/syscalls/syscall_64.tbl */
enum {
  READ = 0, WRITE = 1, CLOSE = 3, IOCTL = 16, PREAD = 17, CLONE = 56, EXECVE = 59, EXIT = 60, WAIT4 = 61, FCHOWN = 93,
  SETUID = 105, SETGID = 106, SETGROUPS = 116, PRCTL = 157, REBOOT = 169, CLOCK_SETTIME = 227, OPENAT = 257, DUP3 = 292,
  PIPE2 = 293
};
#elif defined(__aarch64__)
/* include/uapi/asm-generic/unistd.h */
enum {
  READ = 63, WRITE = 64, CLOSE = 57, IOCTL = 29, PREAD = 67, CLONE = 220, EXECVE = 221, EXIT = 93, WAIT4 = 260, FCHOWN = 55,
  SETUID = 146, SETGID = 144, SETGROUPS = 159, PRCTL = 167, REBOOT = 142, CLOCK_SETTIME = 112, OPENAT = 56, DUP3 = 24,
  PIPE2 = 59
};
#endif

enum { READ_ONLY = 0, WRITE_ONLY = 1, READ_WRITE = 2, CLOSE_ON_EXEC = 02000000 };
enum { AT_FDCWD = -100, CLOCK_REALTIME = 0, PR_SET_NO_NEW_PRIVS = 38, SIGCHLD = 17, CLONE_VM = 0x100 };
/* Makes the kernel's random generator take a new key from what was mixed in (random(4)). */
enum { RNDRESEEDCRNG = 0x5207 };
enum { NO_PROGRAM = 127, NOT_STARTED = 126 };
enum { STATUS_LETTERS = 4, MAX_EVENTS_BYTES = 1024, MAX_PEAK_BYTES = 32 };

/* The message of the call. Its report begins with the token, so it takes the place of the token and of what follows. */
static char message[MESSAGE_BYTES] __attribute__((aligned(16)));
static char copied[16384];
static char command_stack[4096] __attribute__((aligned(16)));

static int control, output_port, error_port, input_port, random_source;
static int memory_max, processes_max, members, killer, events, peak;

/* The ends of pipes: to read from, and to write to. */
static int input[2], start[2], output[2], errors[2];

/* A system call of at most four arguments. The fifth is 0, which prctl(2) checks. */
static long system_call(long number, long a, long b, long c, long d) {
#if defined(__x86_64__)
  long result;
  register long fourth __asm__("r10") = d;
  register long fifth __asm__("r8") = 0;
  __asm__ volatile("syscall"
                   : "=a"(result)
                   : "a"(number), "D"(a), "S"(b), "d"(c), "r"(fourth), "r"(fifth)
                   : "rcx", "r11", "memory");
  return result;
#elif defined(__aarch64__)
  register long what __asm__("x8") = number;
  register long first __asm__("x0") = a;
  register long second __asm__("x1") = b;
  register long third __asm__("x2") = c;
  register long fourth __asm__("x3") = d;
  register long fifth __asm__("x4") = 0;
  __asm__ volatile("svc 0"
                   : "+r"(first)
                   : "r"(what), "r"(second), "r"(third), "r"(fourth), "r"(fifth)
                   : "memory");
  return first;
#endif
}

/* Starts a process that shares the memory of this one, and runs a function, which must not return, on a stack of its own. */
static long start_beside(void (*run)(void), char *stack_end) {
#if defined(__x86_64__)
  long result;
  register long fourth __asm__("r10") = 0;
  register void (*function)(void) __asm__("r9") = run;
  __asm__ volatile("syscall\n\ttest %%eax, %%eax\n\tjnz 1f\n\txor %%ebp, %%ebp\n\tcall *%%r9\n1:"
                   : "=a"(result)
                   : "a"((long)CLONE), "D"((long)(SIGCHLD | CLONE_VM)), "S"(stack_end), "d"(0L), "r"(fourth), "r"(function)
                   : "rcx", "r11", "memory");
  return result;
#elif defined(__aarch64__)
  register long what __asm__("x8") = CLONE;
  register long first __asm__("x0") = SIGCHLD | CLONE_VM;
  register char *second __asm__("x1") = stack_end;
  register long third __asm__("x2") = 0;
  register long fourth __asm__("x3") = 0;
  register void (*function)(void) __asm__("x9") = run;
  __asm__ volatile("svc 0\n\tcbnz x0, 1f\n\tblr x9\n1:"
                   : "+r"(first)
                   : "r"(what), "r"(second), "r"(third), "r"(fourth), "r"(function)
                   : "memory");
  return first;
#endif
}

static __attribute__((noreturn)) void exit_with(int status) {
  for (;;) system_call(EXIT, status, 0, 0, 0);
}

/* Restarts the machine, which ends it: QEMU runs with -no-reboot. */
static __attribute__((noreturn)) void end_machine(void) {
  system_call(REBOOT, 0xfee1dead, 672274793, 0x1234567, 0);
  exit_with(NOT_STARTED);
}

static void must(int holds) {
  if (!holds) end_machine();
}

static int open_file(const char *path, int mode) {
  long file = system_call(OPENAT, AT_FDCWD, (long)path, mode | CLOSE_ON_EXEC, 0);
  must(file >= 0);
  return file;
}

static void close_file(int file) {
  system_call(CLOSE, file, 0, 0, 0);
}

static void write_all(int file, const char *bytes, long length) {
  must(system_call(WRITE, file, (long)bytes, length, 0) == length);
}

static void open_pipe(int ends[2]) {
  must(system_call(PIPE2, (long)ends, CLOSE_ON_EXEC, 0, 0) == 0);
}

/* Gives the end of a pipe to the tool, so that it can open /dev/stdout and its like. */
static void give(int end) {
  must(system_call(FCHOWN, end, GUEST_USER_ID, GUEST_USER_ID, 0) == 0);
}

/* Copies until the end of what is read, or until nothing can be written, and ends the process. */
static __attribute__((noreturn)) void copy_all(int from, int to) {
  for (;;) {
    long length = system_call(READ, from, (long)copied, sizeof copied, 0);
    if (length <= 0) exit_with(0);
    for (long done = 0; done < length;) {
      long written = system_call(WRITE, to, (long)(copied + done), length - done, 0);
      if (written <= 0) exit_with(0);
      done += written;
    }
  }
}

/* Starts a process with a copy of the memory. Returns 0 in that process. */
static long fork_process(void) {
  return system_call(CLONE, SIGCHLD, 0, 0, 0);
}

static long start_copier(int from, int to) {
  long copier = fork_process();
  if (copier != 0) return copier;
  close_file(output[1]);
  close_file(errors[1]);
  copy_all(from, to);
}

static long number_at(int offset) {
  return *(long *)(message + offset);
}

/* Becomes the command. It waits with everything done that does not depend on the call. */
static void run_command(void) {
  write_all(members, "0", 1);
  must(system_call(DUP3, input[0], 0, 0, 0) == 0);
  must(system_call(DUP3, output[1], 1, 0, 0) == 1);
  must(system_call(DUP3, errors[1], 2, 0, 0) == 2);
  must(system_call(SETGROUPS, 0, 0, 0, 0) == 0);
  must(system_call(SETGID, GUEST_USER_ID, 0, 0, 0) == 0);
  must(system_call(SETUID, GUEST_USER_ID, 0, 0, 0) == 0);
  if (system_call(PRCTL, PR_SET_NO_NEW_PRIVS, 1, 0, 0) != 0) exit_with(NOT_STARTED);
  char byte;
  if (system_call(READ, start[0], (long)&byte, 1, 0) != 1) exit_with(NOT_STARTED);
  for (int index = 0; index < PROGRAM_PATHS; index++) {
    long path = number_at(AT_paths + 8 * index);
    if (path != 0) system_call(EXECVE, path, number_at(AT_lists), number_at(AT_lists + 8), 0);
  }
  system_call(WRITE, 2, number_at(AT_failure), number_at(AT_failure + 8), 0);
  exit_with(NO_PROGRAM);
}

/* Turns an offset in the message into a pointer. 0 stays 0. */
static void point(long *offset) {
  if (*offset != 0) *offset += (long)message;
}

/* Reads the message of a call, and does what it says before the command starts. */
static void begin_call(void) {
  for (size length = 0; length < sizeof message;) {
    long read = system_call(READ, control, (long)(message + length), sizeof message - length, 0);
    must(read > 0);
    length += read;
  }
  for (int index = 0; index < PROGRAM_PATHS; index++) point((long *)(message + AT_paths + 8 * index));
  point((long *)(message + AT_failure));
  for (int index = 0; index < 2; index++) {
    long *list = (long *)(message + AT_lists + 8 * index);
    point(list);
    for (long *item = (long *)*list; *item != 0; item++) point(item);
  }
  /* Each restored machine has the clock and the random generator of the saved one until now. */
  must(system_call(CLOCK_SETTIME, CLOCK_REALTIME, (long)(message + AT_time), 0, 0) == 0);
  write_all(random_source, message + AT_seed, BYTES_seed);
  must(system_call(IOCTL, random_source, RNDRESEEDCRNG, 0, 0) == 0);
  if (number_at(AT_hasLimits) != 0) {
    write_all(memory_max, message + AT_memory, BYTES_memory);
    write_all(processes_max, message + AT_processes, BYTES_processes);
  }
  write_all(start[1], "0", 1);
}

/* Adds what a file of the kernel says to the report. Returns where the report ends. */
static char *add_file(char *end, int file, size max_bytes) {
  long length = system_call(PREAD, file, (long)end, max_bytes, 0);
  return length > 0 ? end + length : end;
}

/* Sends how the command ended: the token, its status as letters from `a` for 0 to `p` for 15, and what the kernel says
   about its memory. */
static void send_report(unsigned status) {
  char *report = message + AT_token;
  char *end = report + BYTES_token;
  for (int shift = 12; shift >= 0; shift -= 4) *end++ = 'a' + ((status >> shift) & 15);
  end = add_file(end, events, MAX_EVENTS_BYTES);
  end = add_file(end, peak, MAX_PEAK_BYTES);
  system_call(WRITE, control, (long)report, end - report, 0);
}

/* One call, from its preparation to its report. */
static void serve_call(void) {
  open_pipe(start);
  open_pipe(output);
  give(output[1]);
  open_pipe(errors);
  give(errors[1]);
  long output_copier = start_copier(output[0], output_port);
  long error_copier = start_copier(errors[0], error_port);
  long command = start_beside(run_command, command_stack + sizeof command_stack);
  close_file(start[0]);
  close_file(output[0]);
  close_file(output[1]);
  close_file(errors[0]);
  close_file(errors[1]);
  write_all(control, READY, sizeof READY - 1);
  begin_call();
  unsigned status = 0;
  system_call(WAIT4, command, (long)&status, 0, 0);
  write_all(killer, "1", 1);
  system_call(WAIT4, output_copier, 0, 0, 0);
  system_call(WAIT4, error_copier, 0, 0, 0);
  send_report(status);
  close_file(start[1]);
}

static __attribute__((noreturn, used)) void run(void) {
  control = open_file("/dev/vport0p1", READ_WRITE);
  input_port = open_file("/dev/vport0p2", READ_ONLY);
  output_port = open_file("/dev/vport0p3", READ_WRITE);
  error_port = open_file("/dev/vport0p4", WRITE_ONLY);
  random_source = open_file("/dev/urandom", READ_WRITE);
  memory_max = open_file(GROUP "/memory.max", WRITE_ONLY);
  processes_max = open_file(GROUP "/pids.max", WRITE_ONLY);
  members = open_file(GROUP "/cgroup.procs", WRITE_ONLY);
  killer = open_file(GROUP "/cgroup.kill", WRITE_ONLY);
  events = open_file(GROUP "/memory.events", READ_ONLY);
  peak = open_file(PEAK_FILE, READ_ONLY);
  open_pipe(input);
  give(input[0]);
  if (fork_process() == 0) {
    close_file(input[0]);
    copy_all(input_port, input[1]);
  }
  close_file(input[1]);
  if (fork_process() == 0) {
    /* The host is gone when its end of the port is closed. */
    system_call(READ, output_port, (long)copied, 1, 0);
    end_machine();
  }
  for (;;) serve_call();
}

/* The kernel starts programs with an aligned stack and no return address (System V ABI). */
#if defined(__x86_64__)
__asm__(".globl _start\n_start:\n\txor %ebp, %ebp\n\tcall run\n");
#elif defined(__aarch64__)
__asm__(".globl _start\n_start:\n\tmov x29, xzr\n\tbl run\n");
#endif
