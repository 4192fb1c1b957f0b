import type { ResourceLimits } from "../../../policy/grant/limits.ts";
import type { ProcessImplementation } from "../../../tool/implementations/process-implementation.ts";

/** The most bytes of a script, which bubblewrap passes on in the environment (MAX_ARG_STRLEN of Linux is 128 KiB). */
const MAX_SCRIPT_BYTES = 120 * 1_024;

/** The variable in which the script gets into the sandbox. The program does not see it. */
export const SCRIPT_VARIABLE = "SANDGATE_START";

/** The command that runs the script. It is given to bubblewrap before the script is known. */
export const RUN_SCRIPT: readonly string[] = ["/bin/sh", "-c", `eval "$${SCRIPT_VARIABLE}"`];

/**
 * Returns a shell script that sets the limits of the program, writes a byte to a descriptor and becomes the program.
 * `cpuMs` is rounded up to seconds, and the limits hold for each process (`setrlimit(2)`). If a limit cannot be set, the
 * script exits before it writes the byte.
 *
 * @throws {Error} if the command is longer than 120 KiB.
 */
export function startScript(
  { command, args = [] }: Pick<ProcessImplementation, "command" | "args">,
  { cpuMs, processMemoryBytes, processes }: ResourceLimits,
  startedFd: number,
): string {
  const limits = [
    "ulimit -c 0",
    ...(cpuMs === undefined ? [] : cpuLimits(Math.ceil(cpuMs / 1_000))),
    ...(processMemoryBytes === undefined ? [] : [`ulimit -v ${Math.floor(processMemoryBytes / 1_024)}`]),
    // Root is exempt from it; a cgroup holds it then. dash has no -u, and bash another meaning of -p.
    ...(processes === undefined || process.getuid?.() === 0
      ? []
      : [`{ ulimit -u ${processes} 2>&- || ulimit -p ${processes}; }`]),
  ];
  const set = limits.map((limit) => `${limit} || exit; `).join("");
  const become = [command, ...args].map(quote).join(" ");
  const script = `unset ${SCRIPT_VARIABLE}; ${set}echo >&${startedFd}; exec ${startedFd}>&-; exec ${become}`;
  if (Buffer.byteLength(script) > MAX_SCRIPT_BYTES) throw new Error("the program's arguments are too long");
  return script;
}

/** At the soft limit, a process gets SIGXCPU, from which the cause is known; at the hard limit SIGKILL. */
function cpuLimits(seconds: number): readonly string[] {
  return [`ulimit -S -t ${seconds}`, `ulimit -H -t ${seconds + 1}`];
}

/** In single quotes, a shell interprets nothing. */
function quote(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
