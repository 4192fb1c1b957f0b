import { microvmAvailability } from "../../../src/sandboxes/microvm/availability.ts";

const found = await microvmAvailability();

/** Why virtual machines cannot run here; `undefined` if they can. */
export const unavailable: string | undefined = found.available ? undefined : found.reason;

if (unavailable !== undefined) console.warn(`Tests of the sandbox microvm are skipped: ${unavailable}`);
