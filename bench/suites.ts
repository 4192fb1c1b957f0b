import type { Question } from "./harness/case.ts";

/**
 * The suites and their questions. A suite is loaded on demand, so that its dependencies are not loaded in the
 * processes of others.
 */
const SUITES: Readonly<Record<string, () => Promise<readonly Question[]>>> = {
  host: async () => (await import("./host/questions.ts")).questions,
  pool: async () => (await import("./pool/questions.ts")).questions,
  quickjs: async () => (await import("./quickjs/questions.ts")).questions,
  wasm: async () => (await import("./wasm/questions.ts")).questions,
  process: async () => (await import("./process/questions.ts")).questions,
  microvm: async () => (await import("./microvm/questions.ts")).questions,
  remote: async () => (await import("./remote/questions.ts")).questions,
  journal: async () => (await import("./journal/questions.ts")).questions,
  sessions: async () => (await import("./sessions/questions.ts")).questions,
  policy: async () => (await import("./policy/questions.ts")).questions,
  telemetry: async () => (await import("./telemetry/questions.ts")).questions,
  supervisor: async () => (await import("./supervisor/questions.ts")).questions,
  toolsets: async () => (await import("./toolsets/questions.ts")).questions,
  programs: async () => (await import("./programs/questions.ts")).questions,
  suspend: async () => (await import("./suspend/questions.ts")).questions,
  durable: async () => (await import("./durable/questions.ts")).questions,
  mcp: async () => (await import("./mcp/questions.ts")).questions,
  cold: async () => (await import("./cold/questions.ts")).questions,
};

/** The names of the suites. */
export const SUITE_NAMES: readonly string[] = Object.keys(SUITES);

/** Returns the questions of a suite. */
export async function openSuite(name: string): Promise<readonly Question[]> {
  const open = SUITES[name];
  if (open === undefined) throw new Error(`unknown suite '${name}'`);
  return open();
}
