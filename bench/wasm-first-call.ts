import { deepStrictEqual } from "node:assert";
import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { openSandboxes } from "sandgate";
import { builtProject } from "../test/examples/built-project.ts";
import type { Case, Question } from "./measure.ts";

const execute = promisify(execFile);
const FIXTURE = fileURLToPath(new URL("fixtures/first-call.mjs", import.meta.url));

/** In the order in which they run, in this thread. */
const STEPS = {
  load: "and load: read it, pass the gates, link, look up its validity",
  compile: "and compile",
  instantiate: "and instantiate",
  call: "and call",
} as const;

/**
 * What does the first call of a component of 12 MB cost a new process, when it is known on disk that it is valid?
 * Each case goes one step further than the one before: the differences count.
 */
export async function wasmFirstCall(): Promise<Question> {
  const project = await builtProject("javascript");
  const component = "component" in project ? project.component : "";
  if ("missing" in project) console.error(`(the component of 12 MB is left out: ${project.missing})`);
  const cacheDirectory = await mkdtemp(join(tmpdir(), "sandgate-bench-"));
  const cases: Case[] = [];
  if (component !== "") {
    await using sandboxes = await openSandboxes({ workers: { threads: 1 }, wasm: { cacheDirectory } });
    await sandboxes.prepare({ wasm: { component } });
    for (const [step, name] of Object.entries(STEPS)) {
      cases.push(firstCall(name, step, component, cacheDirectory));
    }
    cases.push(
      firstCall("import and dispatch of a call, in a thread", "dispatch", component, cacheDirectory),
    );
  }
  return {
    name: "wasm-first-call",
    floor: firstCall("a new process that imports the engine and the Wasm sandbox", "import"),
    cases,
    close: () => rm(cacheDirectory, { recursive: true, force: true }),
  };
}

function firstCall(name: string, step: string, ...files: readonly string[]): Case {
  return {
    name,
    run: async () => (await execute(process.execPath, [FIXTURE, step, ...files])).stdout,
    check: (output) => deepStrictEqual(output, `did ${step}\n`),
  };
}
