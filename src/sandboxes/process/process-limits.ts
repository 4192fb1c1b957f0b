import type { LimitName, ResourceLimits } from "../../policy/grant/limits.ts";
import type { Isolation } from "../../tool/sandbox-mode.ts";
import { type EnforcedLimit, limitsEnforcedBy } from "../contract/enforced-limits.ts";
import type { Cgroups } from "./cgroups.ts";

/** The default limits of a program. */
export const PROCESS_DEFAULTS: Required<
  Pick<ResourceLimits, "wallTimeMs" | "outputBytes" | "logLines" | "netBytes">
> = Object.freeze({
  wallTimeMs: 60_000,
  outputBytes: 1_024 * 1_024,
  logLines: 1_000,
  netBytes: 256 * 1_024 * 1_024,
});

/** The defaults that can be enforced: programs on Landlock have no network. */
export function defaultLimits(isolation: Isolation): ResourceLimits {
  const { netBytes, ...others } = PROCESS_DEFAULTS;
  return { ...others, ...(isolation === "namespaces" && { netBytes }) };
}

/** Milliseconds that a program gets to end by itself after SIGTERM, before it is killed. */
export const KILL_GRACE_MS = 5_000;

/** After how long a program that does nothing is ended, in ms. */
export const PROGRAM_IDLE_MS = 60_000;

/**
 * The limits that can be enforced: `netBytes` only with namespaces; `memoryBytes` and `processes`, of all processes
 * together, only with cgroups. `cpuMs` and `processMemoryBytes` apply to each process of the program.
 */
export function enforceableLimits({ memory, pids }: Cgroups, isolation: Isolation): readonly LimitName[] {
  // Otherwise, setrlimit(2) enforces it in the user namespace. Root is exempt from that, and without a
  // namespace all processes of the user count.
  const countsProcesses =
    typeof pids !== "string" || (isolation === "namespaces" && process.getuid?.() !== 0);
  const here: Record<EnforcedLimit<"process">, boolean> = {
    wallTimeMs: true,
    outputBytes: true,
    logLines: true,
    cpuMs: true,
    processMemoryBytes: true,
    netBytes: isolation === "namespaces",
    memoryBytes: typeof memory !== "string",
    processes: countsProcesses,
  };
  return limitsEnforcedBy("process").filter((name) => here[name]);
}
