import type { Question } from "./harness/case.ts";

/**
 * The suites (rooms) and their questions. A suite is loaded on demand, so that its dependencies are not loaded in the
 * processes of others.
 */
const ROOMS: Readonly<Record<string, () => Promise<readonly Question[]>>> = {
  host: async () => (await import("./host/questions.ts")).questions,
  pool: async () => (await import("./pool/questions.ts")).questions,
  quickjs: async () => (await import("./quickjs/questions.ts")).questions,
  wasm: async () => (await import("./wasm/questions.ts")).questions,
  remote: async () => (await import("./remote/questions.ts")).questions,
  cold: async () => (await import("./cold/questions.ts")).questions,
};

/** The names of the suites. */
export const ROOM_NAMES: readonly string[] = Object.keys(ROOMS);

/** Returns the questions of a suite. */
export async function openRoom(name: string): Promise<readonly Question[]> {
  const open = ROOMS[name];
  if (open === undefined) throw new Error(`unknown suite '${name}'`);
  return open();
}
