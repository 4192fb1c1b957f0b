import { readFileSync } from "node:fs";
import type { ResourceLimits } from "../../../policy/grant/limits.ts";
import { handOverScript } from "../call-network.ts";
import { NO_DIRECTORY, OUTSIDE, STARTED } from "../launcher.ts";
import type { Program } from "../program.ts";

/**
 * The first process of a sandbox's pid namespace, by its number on this machine. The kernel kills all
 * processes of the namespace before it releases this one.
 */
export class FirstProcess {
  readonly pid: number;
  readonly #startedAt: string | undefined;

  /** @param pid Of a process that waits, so that the number cannot belong to another one yet. */
  constructor(pid: number) {
    this.pid = pid;
    this.#startedAt = startOf(pid);
  }

  /** Whether it has ended, with all processes of its namespace. */
  get hasEnded(): boolean {
    return this.#startedAt === undefined || startOf(this.pid) !== this.#startedAt;
  }

  /** Whether it has its seccomp filter: bubblewrap sets it when the process has asked for its end with bubblewrap's. */
  get isConfined(): boolean {
    return filtersOf(`${this.pid}`) > filtersOf("self");
  }

  /** Kills all processes of the namespace. */
  kill(): void {
    this.#signal(this.pid, "SIGKILL");
  }

  /** Asks the program's process group to end. The first process is in the group, and ignores it. */
  terminate(): void {
    this.#signal(-this.pid, "SIGTERM");
  }

  #signal(to: number, signal: NodeJS.Signals): void {
    // The number could belong to another process by now.
    if (this.hasEnded) return;
    try {
      process.kill(to, signal);
    } catch {
      // It has ended meanwhile.
    }
  }
}

/** The descriptor from which the script is read, and to which it writes. */
export const SCRIPT_FD = 4;

/** The descriptors that follow those of the streams. dash requires that the script's own are less than 10. */
export const START_FDS = {
  /** Becomes descriptor 3 of the program, if it gets a socket in addition to its standard streams. */
  channel: 6,
  /**
   * Becomes its standard output. Bubblewrap's own processes leave their first three descriptors open: they would hide that the
   * program has closed it.
   */
  output: 7,
  /** With a network, those with which the script hands its socket over. */
  handOver: { channel: 8, node: 9 },
} as const;

/** The descriptor of a program's channel. */
const CHANNEL_FD = 3;

/**
 * Returns the command that writes a line to the descriptor, reads a script from it and runs it. At the descriptor's end,
 * it exits. `$1` is a line break, which the one line of a script cannot have.
 */
export function runScript(): readonly string[] {
  return [
    "/bin/sh",
    "-c",
    `echo >&${SCRIPT_FD}; IFS= read -r script <&${SCRIPT_FD} && eval "$script"`,
    "sh",
    "\n",
  ];
}

/** Further properties of a program. Default: none. */
interface StartWays {
  readonly hasNetwork?: boolean;
  readonly hasChannel?: boolean;
  /** Otherwise, its standard input is `/dev/null`. */
  readonly hasInput?: boolean;
}

/**
 * Returns a shell script in one line that enters the working directory, hands a listening socket over if
 * there is a network, sets the limits and the variables of the program, writes {@link STARTED} to the
 * descriptor and becomes the program. `cpuMs` is rounded up to seconds, and the limits apply to each process
 * (`setrlimit(2)`). If a limit cannot be set, the script exits before it writes anything. If the working
 * directory is missing or outside `root`, it writes that.
 *
 * @param root The directory that `cwd` is relative to, as it is seen in the sandbox.
 */
export function startScript(
  { command, args, env, cwd }: Program,
  { cpuMs, processMemoryBytes, processes }: ResourceLimits,
  root: string,
  { hasNetwork, hasChannel, hasInput }: StartWays = {},
): string {
  const say = (what: string): string => `echo ${what} >&${SCRIPT_FD}`;
  const enter =
    cwd === undefined
      ? ""
      : `cd -P -- ${quote(cwd.startsWith("/") ? cwd : `./${cwd}`)} 2>&- || { ${say(NO_DIRECTORY)}; exit 1; }; ` +
        `case "$PWD/" in ${quote(`${root}/`)}*) ;; *) ${say(OUTSIDE)}; exit 1;; esac; `;
  const limits = [
    "ulimit -c 0",
    ...(cpuMs === undefined ? [] : cpuLimits(Math.ceil(cpuMs / 1_000))),
    ...(processMemoryBytes === undefined ? [] : [`ulimit -v ${Math.floor(processMemoryBytes / 1_024)}`]),
    // Root is exempt from it; then a cgroup enforces it. dash has no -u, and bash another meaning of -p.
    ...(processes === undefined || process.getuid?.() === 0
      ? []
      : [`{ ulimit -u ${processes} 2>&- || ulimit -p ${processes}; }`]),
  ];
  const set = limits.map((limit) => `${limit} || exit; `).join("");
  const variables = Object.entries(env).map(([name, value]) => `export ${name}=${quote(value)}; `);
  const become = [command, ...args].map(quote).join(" ");
  const before = hasNetwork ? handOverScript({ ...START_FDS.handOver, gate: SCRIPT_FD }) : "";
  const { channel, output } = START_FDS;
  const connect = hasChannel ? `exec ${CHANNEL_FD}<&${channel} ${channel}<&-; ` : "";
  const input = hasInput ? "" : "exec </dev/null; ";
  const start = `exec >&${output} ${output}>&-; ${input}${say(STARTED)}; exec ${SCRIPT_FD}>&-; exec ${become}`;
  return `${enter}${before}${set}${variables.join("")}${connect}${start}`;
}

/** At the soft limit, a process gets SIGXCPU, from which the cause is known; at the hard limit SIGKILL. */
function cpuLimits(seconds: number): readonly string[] {
  return [`ulimit -S -t ${seconds}`, `ulimit -H -t ${seconds + 1}`];
}

/** In single quotes, a shell interprets nothing. A line break comes from `$1`: see {@link runScript}. */
function quote(text: string): string {
  return `'${text.replaceAll("'", "'\\''").replaceAll("\n", "'\"$1\"'")}'`;
}

/**
 * When a process started, in clock ticks since the machine did; `undefined` if it does not exist, or is a
 * zombie.
 */
function startOf(pid: number): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
    // The name, in parentheses, can contain any character (proc_pid_stat(5)).
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return fields[0] === "Z" || fields[0] === "X" ? undefined : fields[19];
  } catch {
    return undefined;
  }
}

/** How many seccomp filters a process has. Linux before 5.9 does not report it. */
function filtersOf(pid: string): number {
  try {
    const status = readFileSync(`/proc/${pid}/status`, "latin1");
    const count = /^Seccomp_filters:\t(\d+)$/m.exec(status)?.[1];
    if (count !== undefined) return Number(count);
    return pid !== "self" && /^Seccomp:\t2$/m.test(status) ? 1 : 0;
  } catch {
    return 0;
  }
}
