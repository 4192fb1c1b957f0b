import { mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { type Case, NotHereError, type OpenCase, type Question } from "../harness/case.ts";
import { inFlight } from "../harness/in-flight.ts";
import { openEcho } from "../setting.ts";
import { openBareSpawn, openBubblewrap } from "./by-hand.ts";

/** Milliseconds between two calls, as between those of a model, which takes much longer. */
const PAUSE_MS = 50;
const AT_ONCE = 4;

const spawned: Case = { name: "spawn of cat, its output parsed", open: openBareSpawn };
const bubblewrap: Case = { name: "spawn of cat in bubblewrap", open: openBubblewrap };
const dispatched: Case = { name: "dispatch of cat", open: () => openProgram() };
const withDirectory: Case = {
  name: "dispatch of cat with a writable directory",
  open: () => {
    const directory = realpathSync(mkdtempSync(join(tmpdir(), "bench-process-")));
    return openProgram(directory);
  },
};

async function openProgram(directory?: string): Promise<OpenCase> {
  const capabilities = directory === undefined ? {} : { fs: [{ directory, write: true }] };
  const opened = await openEcho("process", { process: { command: "cat" } }, { capabilities }).catch(
    (error) => {
      throw new NotHereError(String(error));
    },
  );
  return {
    ...opened,
    close: async () => {
      await opened.close?.();
      if (directory !== undefined) rmSync(directory, { recursive: true });
    },
  };
}

/** Waits before each run, which is not timed. */
function afterPause({ open, name, ...others }: Case): Case {
  return {
    ...others,
    name: `${PAUSE_MS} ms after the last: ${name}`,
    open: async () => ({ ...(await open()), before: () => wait(PAUSE_MS) }),
  };
}

/** The cost of a program in the sandbox, which has a moment to get ready for the next call. */
const process: Question = {
  name: "process",
  cases: [spawned, bubblewrap, dispatched, withDirectory].map(afterPause),
};

/** The same, one call immediately after the other. */
const load: Question = { name: "process-load", cases: [spawned, bubblewrap, dispatched] };

/** The same, four calls at once. */
const together: Question = {
  name: "process-together",
  cases: [spawned, bubblewrap, dispatched].map((each) => inFlight(AT_ONCE, each)),
};

/** The questions about programs. */
export const questions: readonly Question[] = [process, load, together];
