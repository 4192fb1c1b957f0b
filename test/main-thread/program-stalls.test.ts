import { closeSync, mkdirSync, mkdtempSync, openSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { ToolDispatchEngine } from "../../src/engine/engine.ts";
import { ToolRegistry } from "../../src/engine/registry.ts";
import { defineTool } from "../../src/engine/tool.ts";
import { allow } from "../../src/policy/decision.ts";
import { openSandboxes } from "../../src/sandboxes/open-sandboxes.ts";
import { ISOLATIONS } from "../sandboxes/process/availability.ts";
import { isShort, longestTurn } from "./turn-meter.ts";

const PROGRAMS = 20;
const root = mkdtempSync(join(tmpdir(), "sandgate-stalls-"));
afterAll(() => rmSync(root, { recursive: true }));

/** Directories in which programs may write, so that what they must not change is searched for. */
const FOLDERS: readonly (readonly [name: string, make: (directory: string) => void])[] = [
  ["an empty directory", () => {}],
  [
    "a directory with 200 others",
    (directory) => {
      for (let folder = 0; folder < 200; folder++) {
        mkdirSync(join(directory, `${folder}`));
        for (let file = 0; file < 20; file++) writeFileSync(join(directory, `${folder}/${file}.ts`), "");
      }
    },
  ],
  [
    "a directory with 30,000 files",
    (directory) => {
      for (let file = 0; file < 30_000; file++) writeFileSync(join(directory, `${file}.ts`), "");
    },
  ],
];

beforeAll(() => {
  for (const [name, make] of FOLDERS) {
    mkdirSync(join(root, name));
    make(join(root, name));
  }
});

describe.each(ISOLATIONS)("programs confined with %s", (isolation) => {
  test.each(FOLDERS.map(([name], index) => [name, index === 2 ? 4 : PROGRAMS] as const))(
    "that are started at once in %s do not stall the main thread",
    async (name, count) => {
      await using sandboxes = await openSandboxes({ process: { isolation } });
      const tool = defineTool({
        ...{ name: "program", description: "", inputSchema: { type: "object" } },
        process: { command: "/bin/echo", args: ["1"] },
      });
      const fs = [{ directory: join(root, name), write: true }];
      const policy = {
        check: () => allow({ sandbox: "process", limits: { wallTimeMs: 60_000 }, capabilities: { fs } }),
      };
      const ctx = { registry: new ToolRegistry().register(tool), policy, sandboxes, sessionId: "session" };
      const engine = new ToolDispatchEngine();
      const call = { id: "call", name: "program", arguments: {} };
      const longest = await longestTurn(async () => {
        const all = await Promise.all(Array.from({ length: count }, () => engine.dispatch(call, ctx)));
        expect(all.map((execution) => execution?.output)).toEqual(Array(count).fill(1));
      });
      expect(isShort(longest), `${longest} ms`).toBe(true);
    },
    60_000,
  );
});

test.runIf(ISOLATIONS.includes("namespaces"))(
  "programs that are started by a process with many connections do not stall the main thread",
  async () => {
    const open = Array.from({ length: 1_000 }, () => openSync("/dev/null", "r"));
    onTestFinished(() => {
      for (const fd of open) closeSync(fd);
    });
    await using sandboxes = await openSandboxes();
    const tool = defineTool({
      ...{ name: "program", description: "", inputSchema: { type: "object" } },
      process: { command: "/bin/echo", args: ["1"] },
    });
    const policy = { check: () => allow({ sandbox: "process", limits: { wallTimeMs: 60_000 } }) };
    const ctx = { registry: new ToolRegistry().register(tool), policy, sandboxes, sessionId: "session" };
    const engine = new ToolDispatchEngine();
    const longest = await longestTurn(() =>
      Promise.all(
        Array.from({ length: 10 }, () => engine.dispatch({ id: "1", name: "program", arguments: {} }, ctx)),
      ),
    );
    expect(isShort(longest), `${longest} ms`).toBe(true);
  },
  60_000,
);
