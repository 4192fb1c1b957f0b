import { LIMIT_NAMES, type LimitName, type ResourceLimits } from "../../policy/grant/limits.ts";
import type { SandboxMode } from "../../tool/sandbox-mode.ts";

/** A sandbox, or a kind of tools for which a sandbox enforces limits of their own. An executor's sandboxes enforce theirs. */
export type Enforcer = Exclude<SandboxMode, "remote"> | "host-files" | "endpoint" | "mcp";

/**
 * Who can enforce each limit: at least one. The others refuse it. `process` enforces some of its limits only on machines that
 * allow it. A row that says too much fails `test/contract/enforced-limits.test.ts`, which names a test for each entry.
 */
const ENFORCED_BY = {
  wallTimeMs: ["host", "host-files", "quickjs", "wasm", "process", "microvm", "endpoint", "mcp"],
  memoryBytes: ["quickjs", "wasm", "process", "microvm"],
  outputBytes: ["host", "host-files", "quickjs", "wasm", "process", "microvm", "endpoint", "mcp"],
  stackBytes: ["quickjs"],
  logLines: ["quickjs", "wasm", "process", "microvm"],
  nestedCalls: ["quickjs", "wasm"],
  fileBytes: ["host-files", "quickjs", "wasm"],
  netBytes: ["quickjs", "wasm", "process", "endpoint"],
  cpuMs: ["process"],
  processes: ["process", "microvm"],
  processMemoryBytes: ["process"],
  waitTimeMs: ["quickjs"],
} as const;

/** Those who can enforce a limit. */
export type EnforcerOf<Name extends LimitName> = (typeof ENFORCED_BY)[Name][number];

/** The limits that a sandbox can enforce. */
export type EnforcedLimit<By extends Enforcer> = {
  [Name in LimitName]: By extends EnforcerOf<Name> ? Name : never;
}[LimitName];

/** A value for each limit that a sandbox can enforce. */
export type EnforcedLimits<By extends Enforcer> = Required<Pick<ResourceLimits, EnforcedLimit<By>>>;

/** Returns the limits that a sandbox can enforce. */
export function limitsEnforcedBy<By extends Enforcer>(enforcer: By): readonly EnforcedLimit<By>[] {
  // Does not compile if a limit has no row, or nobody in it.
  const table: Readonly<Record<LimitName, readonly [Enforcer, ...Enforcer[]]>> = ENFORCED_BY;
  const isEnforced = (name: LimitName): name is EnforcedLimit<By> => table[name].includes(enforcer);
  return Object.freeze(LIMIT_NAMES.filter(isEnforced));
}
