import type { KeptCall } from "../../engine/call/suspension.ts";
import type { ProgramHeader, SuspensionStore } from "./suspension-store.ts";

/**
 * How long programs are kept after they may no longer wait, in ms: longer than a program can go on then, as its wall time is
 * at most 25 days.
 */
const KEPT_MS = 30 * 24 * 3_600_000;

/**
 * Removes the programs that can never go on, and the templates that no program names. What another process has in the store
 * stays as long as it can go on.
 *
 * @param isLost Whether no process goes on with a program.
 * @param now Milliseconds since the epoch.
 */
export async function cleanStore(
  store: SuspensionStore,
  isLost: (call: KeptCall) => boolean,
  now: number,
): Promise<void> {
  for (const program of await store.list()) {
    const isResumed = program.state === "taken";
    const isOver = now - program.waitUntil > KEPT_MS;
    if (isLost({ ...program, isResumed }) || (isOver && (await isFree(store, program))))
      await store.remove(program.id);
  }
  await store.removeTemplates();
}

/** Whether no process goes on with a program, or begins to do so now. */
async function isFree(store: SuspensionStore, { id, state, revision }: ProgramHeader): Promise<boolean> {
  return state === "taken" || store.take(id, revision);
}
