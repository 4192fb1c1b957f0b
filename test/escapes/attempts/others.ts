import { type Attempt, type Attempts, attempts } from "../attempt.ts";

const SOCKETS = attempts("the network", {
  ...Object.fromEntries(
    [
      // TCP and UDP work in namespaces, on a loopback interface of the program's own.
      ["IPv4, multipath TCP", "2 1 262"],
      ["IPv4, raw", "2 3 1"],
      ["IPv6, raw", "10 3 58"],
      ["netlink", "16 3 0"],
      ["netlink, audit", "16 3 9"],
      ["netlink, events", "16 3 15"],
      ["packets", "17 3 768"],
      ["vsock", "40 1 0"],
      ["the kernel's cryptography", "38 5 0"],
      ["IPsec keys", "15 3 2"],
      ["Bluetooth", "31 3 1"],
      ["CAN", "29 3 1"],
      ["TIPC", "30 1 0"],
      ["XDP", "44 3 0"],
    ].map(([name, args]) => [`a socket of ${name}`, `$TOOLS/reach socket ${args}`]),
  ),
  "a socket whose family has more than 32 bits": "$TOOLS/reach wide_socket",
  "a pair of sockets of IPv4": "$TOOLS/reach pair 2",
  "a datagram to an address elsewhere": "$TOOLS/reach datagram",
  "a server of this machine": "$TOOLS/reach connect_inet $PORT",
  "a server of this machine, with perl":
    "perl -MIO::Socket::INET -e 'IO::Socket::INET->new(\"127.0.0.1:'$PORT'\") or die $!'",
  "a server of this machine, with bash": "bash -c 'echo > /dev/tcp/127.0.0.1/'$PORT",
  "a unix socket": "$TOOLS/reach connect_unix $OUTSIDE/docker.sock",
  "a unix socket with a relative path": "cd ..; $TOOLS/reach connect_unix outside/docker.sock",
  "a unix socket through a link": {
    before: "ln -s $OUTSIDE/docker.sock s",
    script: "$TOOLS/reach connect_unix s",
  },
  "a unix socket through /proc/self/root": "$TOOLS/reach connect_unix /proc/self/root$OUTSIDE/docker.sock",
  "an abstract unix socket": "$TOOLS/reach connect_unix @sandgate-$NUMBER",
});

const PROCESSES = attempts("other processes", {
  ...Object.fromEntries(
    [
      "signal",
      "tgkill",
      "pidfd_open",
      "prlimit",
      "affinity",
      "set_affinity",
      "setpriority",
      "sigqueue",
      "getsid",
      "kill",
    ].map((name) => [name.replace("_", " "), `$TOOLS/reach ${name} $VICTIM`]),
  ),
  "kill every process": {
    script: "perl -e '$SIG{TERM} = q(IGNORE); kill 15, -1'; sleep 0.1",
    control: { script: "kill $VICTIM; sleep 0.1" },
  },
  "kill with the shell": "kill -9 $VICTIM",
  "stop with the shell": "kill -STOP $VICTIM && echo OUT; kill -CONT $VICTIM",
});

/** An object of inter-process communication that is made outside, and looked for inside. */
const shared = (kind: string, name: string): Attempts => ({
  [kind]: {
    before: `/bin/true`,
    script: `$TOOLS/reach find_${kind} ${name}`,
    control: {
      script: `$TOOLS/reach make_${kind} ${name} >/dev/null; $TOOLS/reach find_${kind} ${name}; $TOOLS/reach drop_${kind} ${name} >/dev/null`,
    },
  },
});

const MEMORY = attempts("shared memory and queues", {
  ...shared("shm", "$NUMBER"),
  ...shared("sem", "$NUMBER"),
  ...shared("msg", "$NUMBER"),
  ...shared("mq", "/sandgate-$NUMBER"),
  "a file in /dev/shm": {
    script: "ls -A /dev/shm | grep -q . && echo OUT",
    control: { script: "f=/dev/shm/sandgate-$NUMBER; : > $f; ls -A /dev/shm | grep -q . && echo OUT; rm $f" },
  },
  "a file in /tmp": {
    script: "ls -A /tmp | grep -q . && echo OUT",
  },
  "a queue that is mounted": {
    script: "test -d /dev/mqueue && echo OUT",
    control: { script: "mkdir d; test -d d && echo OUT" },
  },
});

const ENVIRONMENT = attempts("the environment", {
  "of its own": { script: "env" },
  "of its own, in /proc": "tr '\\0' '\\n' < /proc/self/environ",
  "of its parent": "tr '\\0' '\\n' < /proc/$PPID/environ",
  "of process 1": {
    script: "tr '\\0' '\\n' < /proc/1/environ | grep -qE 'HOME=|npm_|NODE' && echo OUT",
    control: { script: "tr '\\0' '\\n' < /proc/$VICTIM/environ" },
  },
  "of every process": "cat /proc/[0-9]*/environ | tr '\\0' '\\n'",
  "of the victim, with ps": "ps eww $VICTIM",
  "the command lines of every process": {
    script: "cat /proc/[0-9]*/cmdline | tr '\\0' ' ' | grep -q 'sleep [1]000' && echo OUT",
  },
  "an inherited descriptor": {
    script: "ls -l /proc/self/fd | grep -E '([4-9]|[0-9][0-9]+) -> ' | grep -qv /dev/null && echo OUT",
    control: {
      script:
        "exec 9<.; ls -l /proc/self/fd | grep -E '([4-9]|[0-9][0-9]+) -> ' | grep -qv /dev/null && echo OUT",
    },
  },
  "the terminal": {
    script: "(: > /dev/tty) && echo OUT",
    control: { script: "script -qc '(: > /dev/tty) && echo OUT' /dev/null | tr -d '\\r'" },
  },
});

const LEFT = attempts("leave a process", {
  "in the background": "sleep $NUMBER >&- 2>&- <&- &",
  "in a session of its own": "setsid sleep $NUMBER >&- 2>&- <&- &",
  "after a double fork": "(setsid sleep $NUMBER >&- 2>&- <&- &) &",
  "with nohup": "nohup sleep $NUMBER >/dev/null 2>&1 &",
  "that ignores signals": "(trap '' TERM HUP INT; exec sleep $NUMBER >&- 2>&- <&-) &",
  "that holds the output": {
    script: "setsid sleep $NUMBER & exit 0",
    control: { script: "setsid sleep $NUMBER >&- 2>&- & exit 0" },
  },
  "of perl's fork":
    "perl -MPOSIX -e 'exit if fork; POSIX::setsid(); exit if fork; close $_ for *STDIN, *STDOUT, *STDERR; exec qw(sleep), $ARGV[0]' $NUMBER",
});

const REPOSITORY =
  "mkdir -p .git/hooks .git/modules/m/hooks sub/.git .ssh; echo a > .git/hooks/pre-commit; echo a > .git/config; echo a > sub/.git/config; echo a > .ssh/authorized_keys; echo a > .bashrc; ";

const inRepository = (script: string): Omit<Attempt, "group" | "name"> => ({
  write: true,
  before: REPOSITORY,
  script,
});

const PROTECTED = attempts("change protected places", {
  "a hook": inRepository("echo x >> .git/hooks/pre-commit"),
  "a new hook": inRepository("echo x > .git/hooks/post-merge && echo OUT"),
  "a hook of a submodule": inRepository("echo x > .git/modules/m/hooks/post-merge && echo OUT"),
  "the configuration of git": inRepository("git config core.fsmonitor /bin/true || echo x >> .git/config"),
  "the configuration of a repository below": inRepository("echo x >> sub/.git/config"),
  "renaming the hooks": inRepository(
    "mv .git/hooks .git/h && mkdir .git/hooks && echo x > .git/hooks/pre-commit",
  ),
  "renaming .git": inRepository("mv .git .g && mkdir -p .git/hooks && echo x > .git/hooks/pre-commit"),
  "exchanging .git": inRepository("mkdir -p g/hooks; mv -T --exchange g .git || { mv .git h; mv g .git; }"),
  "removing .git": inRepository("rm -rf .git; mkdir -p .git/hooks; echo x > .git/hooks/pre-commit"),
  "a link in the place of .git": inRepository("mkdir -p g/hooks; rm -rf .git; ln -sfn g .git"),
  "removing .git of a repository below": inRepository(
    "rm -rf sub/.git; mkdir sub/.git; echo x > sub/.git/config",
  ),
  "a file in the place of the configuration": inRepository("echo x > c; mv -f c .git/config"),
  "a hard link to the configuration": inRepository("ln .git/config c; echo x >> c"),
  "another way to the configuration": inRepository(
    "echo x >> /proc/self/cwd/.git/config; echo x >> /proc/1/root/workspace/.git/config; echo x >> .git/hooks/../config",
  ),
  "keys of SSH": inRepository("echo x >> .ssh/authorized_keys"),
  "renaming the keys of SSH": inRepository("mv .ssh s; mkdir .ssh; echo x > .ssh/authorized_keys"),
  "what bash runs": inRepository("echo x >> .bashrc"),
  "a file in the place of what bash runs": inRepository("echo x > b; mv -f b .bashrc"),
  "truncating what bash runs": inRepository("truncate -s 0 .bashrc"),
  "the mode of a hook": inRepository("chmod 777 .git/hooks/pre-commit && echo OUT"),
});

const MIB = 1_024 * 1_024;

const LIMITS = attempts("use more than is granted", {
  "fill /tmp": {
    script: "f=/tmp/sandgate-$NUMBER; head -c 70000000 /dev/zero > $f && echo OUT; rm $f",
  },
  "fill /dev/shm": {
    script: "f=/dev/shm/sandgate-$NUMBER; head -c 70000000 /dev/zero > $f && echo OUT; rm $f",
  },
  "fill /tmp with many files": {
    script:
      "d=/tmp/sandgate-$NUMBER; mkdir $d; for n in 1 2 3 4 5 6 7; do head -c 10000000 /dev/zero > $d/$n || exit; done; echo OUT; rm -r $d",
    control: {
      script: "for n in 1 2 3 4 5 6 7; do head -c 10000000 /dev/zero > $n || exit; done; echo OUT",
    },
  },
  "fill the temporary directory": {
    // biome-ignore lint/suspicious/noTemplateCurlyInString: the shell's.
    script: "f=${TMPDIR:-/tmp}/sandgate-$NUMBER; head -c 70000000 /dev/zero > $f && echo OUT; rm $f",
  },
  "write more than is read": {
    script: "head -c 3000000 /dev/zero | tr '\\0' x; echo; echo OUT",
    control: { limits: { outputBytes: 10 * MIB } },
  },
  "run longer than it may": {
    script: "trap '' TERM; sleep 0.5; echo OUT",
    limits: { wallTimeMs: 200 },
    control: { limits: { wallTimeMs: 10_000 } },
  },
  "compute longer than it may": {
    script: "exec perl -e '1 while (times)[0] < 2.5; print qq(OUT\\n)'",
    limits: { cpuMs: 1_000 },
    control: { limits: { cpuMs: 10_000 } },
  },
  "allocate more than a process may": {
    script: "perl -e '$x = q(x) x 200_000_000; print qq(OUT\\n)'",
    limits: { processMemoryBytes: 100 * MIB },
    control: { limits: { processMemoryBytes: 900 * MIB } },
  },
  "raise its limit of CPU time": {
    script: "ulimit -t 1000 && echo OUT",
    limits: { cpuMs: 1_000 },
    control: { limits: {} },
  },
  "raise its limit of memory": {
    script: "ulimit -v 1000000 && echo OUT",
    limits: { processMemoryBytes: 100 * MIB },
    control: { limits: {} },
  },
});

const MACHINE = attempts("learn about the machine", {
  "the size of a file outside": "stat -c %s $OUTSIDE/secret && echo OUT",
  "changes in a directory outside": "$TOOLS/reach watch $OUTSIDE",
  "its name": 'test "$(uname -n)" != sandbox && echo OUT',
});

export const OTHERS: readonly Attempt[] = [
  ...SOCKETS,
  ...PROCESSES,
  ...MEMORY,
  ...MACHINE,
  ...ENVIRONMENT,
  ...LEFT,
  ...LIMITS,
  ...PROTECTED,
];
