import { closeSync, mkdirSync, mkdtempSync, openSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { ToolDispatchEngine } from "../../src/engine/engine.ts";
import { ToolRegistry } from "../../src/engine/registry.ts";
import { defineTool } from "../../src/engine/tool.ts";
import { allow } from "../../src/policy/policy.ts";
import { openSandboxes } from "../../src/sandboxes/open-sandboxes.ts";
import type { Isolation } from "../../src/tool/sandbox-mode.ts";
import { ISOLATIONS } from "../../test/sandboxes/process/availability.ts";
import type { StallCase, Work } from "./turn-meter.ts";

const tool = defineTool({
  name: "program",
  description: "",
  inputSchema: { type: "object" },
  process: { command: "/bin/echo", args: ["1"] },
});

/** Starts programs at once, which may write in a directory: what they must not change there is searched for. */
async function startAtOnce(
  count: number,
  isolation: Isolation,
  later: AsyncDisposableStack,
  directory?: string,
): Promise<Work> {
  const sandboxes = later.use(await openSandboxes({ process: { isolation } }));
  const capabilities = directory === undefined ? {} : { fs: [{ directory, write: true }] };
  const policy = {
    check: () => allow({ sandbox: "process", limits: { wallTimeMs: 60_000 }, capabilities }),
  };
  const ctx = { registry: new ToolRegistry().register(tool), policy, sandboxes, sessionId: "session" };
  const engine = new ToolDispatchEngine();
  const call = { id: "call", name: "program", arguments: {} };
  return async () => {
    const all = await Promise.all(Array.from({ length: count }, () => engine.dispatch(call, ctx)));
    const outputs = all.map((execution) => execution?.output);
    if (!isDeepStrictEqual(outputs, Array(count).fill(1))) throw new Error(`wrong outputs: ${outputs}`);
  };
}

const inDirectory = (
  isolation: Isolation,
  count: number,
  name: string,
  fill: (directory: string) => void,
): StallCase => ({
  name: `${count} programs confined with ${isolation}, at once in ${name}`,
  prepare: (later) => {
    const directory = mkdtempSync(join(tmpdir(), "sandgate-stalls-"));
    later.defer(() => rmSync(directory, { recursive: true }));
    fill(directory);
    return startAtOnce(count, isolation, later, directory);
  },
});

function fillWithFolders(directory: string): void {
  for (let folder = 0; folder < 200; folder++) {
    mkdirSync(join(directory, `${folder}`));
    for (let file = 0; file < 20; file++) writeFileSync(join(directory, `${folder}/${file}.ts`), "");
  }
}

function fillWithFiles(directory: string): void {
  for (let file = 0; file < 30_000; file++) writeFileSync(join(directory, `${file}.ts`), "");
}

/** What this machine cannot confine programs with has no cases; a line on standard error says why. */
export const cases: readonly StallCase[] = ISOLATIONS.flatMap((isolation) => [
  inDirectory(isolation, 20, "an empty directory", () => {}),
  inDirectory(isolation, 20, "a directory with 200 others", fillWithFolders),
  inDirectory(isolation, 4, "a directory with 30,000 files", fillWithFiles),
  {
    name: `10 programs confined with ${isolation}, at once in a process with many connections`,
    prepare: (later) => {
      const open = Array.from({ length: 1_000 }, () => openSync("/dev/null", "r"));
      later.defer(() => open.forEach(closeSync));
      return startAtOnce(10, isolation, later);
    },
  },
]);
