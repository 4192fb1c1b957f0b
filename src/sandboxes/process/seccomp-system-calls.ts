/** An architecture for which there is a filter. */
export interface Architecture {
  /** AUDIT_ARCH of linux/audit.h. */
  readonly audit: number;
  /** The least number of a system call of another ABI under the same architecture (x32). */
  readonly otherAbiFrom?: number;
  readonly numbers: Readonly<Record<string, number | undefined>>;
}

/**
 * System calls that a confined program must not make: they reach other processes, the kernel's keys and configuration,
 * create namespaces or mounts, or have been ways out of sandboxes. Numbers of x86-64 and of AArch64, from the kernel's
 * unistd_64.h and asm-generic/unistd.h; `undefined` where the architecture does not have the call.
 */
const NUMBERS: Readonly<Record<string, readonly [x64: number, arm64: number | undefined]>> = {
  acct: [163, 89],
  add_key: [248, 217],
  adjtimex: [159, 171],
  bpf: [321, 280],
  chroot: [161, 51],
  clock_adjtime: [305, 266],
  clock_settime: [227, 112],
  delete_module: [176, 106],
  fanotify_init: [300, 262],
  finit_module: [313, 273],
  fsconfig: [431, 431],
  fsmount: [432, 432],
  fsopen: [430, 430],
  fspick: [433, 433],
  init_module: [175, 105],
  io_uring_enter: [426, 426],
  io_uring_register: [427, 427],
  io_uring_setup: [425, 425],
  ioperm: [173, undefined],
  iopl: [172, undefined],
  kcmp: [312, 272],
  kexec_file_load: [320, 294],
  kexec_load: [246, 104],
  keyctl: [250, 219],
  lookup_dcookie: [212, 18],
  memfd_secret: [447, 447],
  migrate_pages: [256, 238],
  modify_ldt: [154, undefined],
  mount: [165, 40],
  mount_setattr: [442, 442],
  move_mount: [429, 429],
  move_pages: [279, 239],
  name_to_handle_at: [303, 264],
  open_by_handle_at: [304, 265],
  open_tree: [428, 428],
  perf_event_open: [298, 241],
  pidfd_getfd: [438, 438],
  pivot_root: [155, 41],
  process_madvise: [440, 440],
  process_vm_readv: [310, 270],
  process_vm_writev: [311, 271],
  ptrace: [101, 117],
  quotactl: [179, 60],
  quotactl_fd: [443, 443],
  reboot: [169, 142],
  request_key: [249, 218],
  setdomainname: [171, 162],
  sethostname: [170, 161],
  setns: [308, 268],
  settimeofday: [164, 170],
  swapoff: [168, 225],
  swapon: [167, 224],
  syslog: [103, 116],
  umount2: [166, 39],
  unshare: [272, 97],
  userfaultfd: [323, 282],
  vhangup: [153, 58],
};

/** The names of all refused system calls. */
export const REFUSED: readonly string[] = Object.keys(NUMBERS);

/**
 * System calls that reach other processes where there are no namespaces: queues, semaphores and shared memory.
 */
const SHARED: typeof NUMBERS = {
  mq_open: [240, 180],
  mq_unlink: [241, 181],
  msgctl: [71, 187],
  msgget: [68, 186],
  msgrcv: [70, 188],
  msgsnd: [69, 189],
  semctl: [66, 191],
  semget: [64, 190],
  semop: [65, 193],
  semtimedop: [220, 192],
  shmat: [30, 196],
  shmctl: [31, 195],
  shmget: [29, 194],
};

/**
 * The names of the system calls that are refused in addition to {@link REFUSED} where there are no
 * namespaces.
 */
export const REFUSED_WITHOUT_NAMESPACES: readonly string[] = Object.keys(SHARED);

/** Calls whose arguments decide. */
const CHECKED: typeof NUMBERS = {
  chmod: [90, undefined],
  clone: [56, 220],
  clone3: [435, 435],
  creat: [85, undefined],
  fchmod: [91, 52],
  fchmodat: [268, 53],
  fchmodat2: [452, 452],
  ioctl: [16, 29],
  mknod: [133, undefined],
  mknodat: [259, 33],
  open: [2, undefined],
  openat: [257, 56],
  openat2: [437, 437],
  personality: [135, 92],
  pidfd_open: [434, 434],
  prlimit: [302, 261],
  setpriority: [141, 140],
  socket: [41, 198],
  socketpair: [53, 199],
};

/** The supported architectures, by `process.arch`. */
export const ARCHITECTURES: Readonly<Record<string, Architecture | undefined>> = {
  x64: { audit: 0xc000003e, otherAbiFrom: 0x40000000, numbers: numbersOf(0) },
  arm64: { audit: 0xc00000b7, numbers: numbersOf(1) },
};

function numbersOf(column: 0 | 1): Architecture["numbers"] {
  const all = Object.entries({ ...NUMBERS, ...SHARED, ...CHECKED });
  return Object.fromEntries(all.map(([name, numbers]) => [name, numbers[column]]));
}
