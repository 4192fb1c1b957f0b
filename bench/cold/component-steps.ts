import { strictEqual } from "node:assert";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { openSandboxes } from "sandgate";
import { builtProject } from "../../test/examples/built-project.ts";
import { type Case, NotHereError, type OpenCase, type Question } from "../harness/case.ts";
import { runFile } from "./fresh-process.ts";

const STEPS_FILE = fileURLToPath(new URL("../fixtures/component-steps.mjs", import.meta.url));

/** The steps in order. All but the last run in the main thread. */
const STEPS = {
  load: "and load: read it, pass the gates, link, look up its validity",
  compile: "and compile",
  instantiate: "and instantiate",
  call: "and call",
  dispatch: "import and dispatch of a call, in a thread",
} as const;

/**
 * The cost of the first call of a component of 12 MB in a new process, if the cache on disk says that it is valid. Each
 * case does one step more than the previous one, so compare the differences.
 */
export const componentSteps: Question = {
  name: "cold-large-component",
  cases: [
    {
      name: "a new process that imports the engine and the Wasm sandbox",
      open: () => ({
        run: () => runFile(STEPS_FILE, "import"),
        check: (output) => strictEqual(output, "did import"),
      }),
    },
    ...Object.entries(STEPS).map(([step, name]): Case => ({ name, open: () => openStep(step) })),
  ],
};

async function openStep(step: string): Promise<OpenCase> {
  const project = await builtProject("javascript");
  if ("missing" in project) throw new NotHereError(`the component of 12 MB: ${project.missing}`);
  const { component } = project;
  const cacheDirectory = await mkdtemp(join(tmpdir(), "sandgate-bench-"));
  await using sandboxes = await openSandboxes({ workers: { threads: 1 }, wasm: { cacheDirectory } });
  await sandboxes.prepare({ wasm: { component } });
  return {
    run: () => runFile(STEPS_FILE, step, component, cacheDirectory),
    check: (output) => strictEqual(output, `did ${step}`),
    close: () => rm(cacheDirectory, { recursive: true, force: true }),
  };
}
