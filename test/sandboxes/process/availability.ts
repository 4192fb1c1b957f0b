import { Bubblewrap } from "../../../src/sandboxes/process/namespaces/bubblewrap.ts";

/** Why programs cannot be confined on this machine; `undefined` if they can. */
export const unavailable: string | undefined = await Bubblewrap.open().then(
  (bubblewrap) => void bubblewrap[Symbol.dispose](),
  (error: Error) => error.message,
);

if (unavailable !== undefined) console.warn(`Tests of the process sandbox are skipped: ${unavailable}`);
