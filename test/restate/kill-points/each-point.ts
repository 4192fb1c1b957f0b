import { type KilledMessage, KillPoints } from "./kill-points.ts";

/** One of each kind: changes nothing, reads, may be called again, must not, asks a person first, and a program. */
const TOOLS = ["pure", "read", "put", "note", "asks", "run_program"];

/** How many messages of a server about a call Restate has when it has kept that the call begins. */
const BEGINS_AFTER = 2;

/**
 * Kills a server at each step of a message, one message after the other, for each kind of tools.
 *
 * @param log Receives a line for each step.
 * @returns how often a promise was broken.
 */
export async function killAtEachPoint(log: (line: string) => void): Promise<number> {
  await using killing = new KillPoints();
  await killing.start();
  let wrong = 0;
  for (const tool of TOOLS) {
    for (let at = 1; ; at++) {
      const killed = await killing.run(tool, (_, number) => number === at);
      if (!killed.isKilled) break;
      const faults = faultsOf(killed);
      const { result, steps } = killed;
      const came = result?.success ? "ran" : (result?.error?.effect ?? "has no result");
      log([`${tool} ${at}: '${steps.at(-1)}': ${came}`, ...faults].join("; "));
      if (faults.length > 0) wrong++;
    }
  }
  return wrong;
}

function faultsOf({ result, steps, faults }: KilledMessage): readonly string[] {
  const sent = steps.slice(0, -1).filter((step) => step.startsWith("call >")).length;
  if (result?.success || sent >= BEGINS_AFTER) return faults;
  return [...faults, "did not run, although it had not begun"];
}
