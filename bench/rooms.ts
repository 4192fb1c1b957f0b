import type { Question } from "./harness/case.ts";

/** Each room's questions. A room is loaded when it is asked: what one needs is not in the other's process. */
const ROOMS: Readonly<Record<string, () => Promise<readonly Question[]>>> = {
  host: async () => (await import("./host/questions.ts")).questions,
  pool: async () => (await import("./pool/questions.ts")).questions,
  quickjs: async () => (await import("./quickjs/questions.ts")).questions,
  wasm: async () => (await import("./wasm/questions.ts")).questions,
  remote: async () => (await import("./remote/questions.ts")).questions,
  cold: async () => (await import("./cold/questions.ts")).questions,
};

/** The names of the rooms. */
export const ROOM_NAMES: readonly string[] = Object.keys(ROOMS);

/** The questions of a room. */
export async function openRoom(name: string): Promise<readonly Question[]> {
  const open = ROOMS[name];
  if (open === undefined) throw new Error(`there is no room '${name}'`);
  return open();
}
