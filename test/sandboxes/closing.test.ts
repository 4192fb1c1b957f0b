import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { contractComponent } from "../fixtures/wasm/contract-component.ts";
import { unavailable as microvmUnavailable } from "./microvm/availability.ts";
import {
  ISOLATIONS,
  landlockUnavailable,
  unavailable as namespacesUnavailable,
} from "./process/availability.ts";

const folder = mkdtempSync(join(tmpdir(), "sandgate-closing-"));
writeFileSync(join(folder, "module.mjs"), "export default () => new Promise(() => {});");
afterAll(() => rmSync(folder, { recursive: true }));

const HEAD = `
  import { ToolDispatchEngine } from ${source("engine/engine.ts")};
  import { ToolRegistry } from ${source("engine/registry.ts")};
  import { allow } from ${source("policy/policy.ts")};
  import { openSandboxes } from ${source("sandboxes/open-sandboxes.ts")};
  const engine = new ToolDispatchEngine();
  async function run(sandboxes, sandbox, implementation, input = {}, capabilities = {}, limits = {}) {
    const tool = { name: "tool", description: "", inputSchema: { type: "object" }, ...implementation };
    const { success, error } = await engine.dispatch(
      { id: "1", name: "tool", arguments: input },
      {
        registry: new ToolRegistry().register(tool),
        policy: { check: () => allow({ sandbox, capabilities, limits }) },
        sandboxes,
        sessionId: "s",
      },
    );
    console.log(success ? "ran" : error.message);
  }
  const folder = ${JSON.stringify(folder)};
`;

function source(path: string): string {
  return JSON.stringify(new URL(`../../src/${path}`, import.meta.url).href);
}

/** Runs a module in a process of its own. Nothing but its sandboxes keeps the process running. */
async function play(code: string): Promise<{ readonly code: number; readonly lines: readonly string[] }> {
  const args = ["--no-warnings", "--input-type=module", "--eval", HEAD + code];
  return new Promise((resolve) => {
    execFile(process.execPath, args, (error, stdout, stderr) => {
      const lines = `${stdout}${stderr}`.trim().split("\n");
      resolve({ code: error === null ? 0 : ((error.code as number | null | undefined) ?? -1), lines });
    });
  });
}

describe("In a process that only waits for them, sandboxes are closed", { timeout: 400_000 }, () => {
  test("after a call of a host function", async () => {
    const { code, lines } = await play(`
      const sandboxes = await openSandboxes();
      await run(sandboxes, "host", { host: () => 1 });
      await sandboxes.close();
      console.log("closed");
    `);
    expect(lines).toEqual(["ran", "closed"]);
    expect(code).toBe(0);
  });

  test("after a call of JavaScript in QuickJS", async () => {
    const { code, lines } = await play(`
      const sandboxes = await openSandboxes();
      await run(sandboxes, "quickjs", { quickjs: { source: "export default () => 1;" } });
      await sandboxes.close();
      console.log("closed");
    `);
    expect(lines).toEqual(["ran", "closed"]);
    expect(code).toBe(0);
  });

  for (const [isolation, missing] of [
    ["namespaces", namespacesUnavailable],
    ["landlock", landlockUnavailable],
  ] as const)
    describe.skipIf(missing)(`with programs on ${isolation}`, () => {
      const open = `const sandboxes = await openSandboxes({ process: { isolation: "${isolation}" } });`;

      test("after a call of a program", async () => {
        const { code, lines } = await play(`
          ${open}
          await run(sandboxes, "process", { process: { command: "true", input: "none", output: "text" } });
          await sandboxes.close();
          console.log("closed");
        `);
        expect(lines).toEqual(["ran", "closed"]);
        expect(code).toBe(0);
      });

      test("as soon as more of them wait for calls than may", async () => {
        for (let index = 0; index < 6; index++) mkdirSync(join(folder, `${index}`), { recursive: true });
        const { code, lines } = await play(`
          ${open}
          for (let index = 0; index < 6; index++) {
            const directory = folder + "/" + index;
            const capabilities = { fs: [{ directory, at: directory }] };
            await run(sandboxes, "process", { process: { command: "true", input: "none", output: "text" } }, {}, capabilities);
          }
          await new Promise((resolve) => setImmediate(resolve));
          await sandboxes.close();
          console.log("closed");
        `);
        expect(lines).toEqual([...Array(6).fill("ran"), "closed"]);
        expect(code).toBe(0);
      });

      test("while a shell waits for its next command", async () => {
        const { code, lines } = await play(`
          ${open}
          const persistentShell = { when: { argument: "/kept" }, command: { argument: "/command" } };
          const process = { command: "true", input: "none", output: "completion", persistentShell };
          await run(sandboxes, "process", { process }, { kept: true, command: "true" });
          await sandboxes.close();
          console.log("closed");
        `);
        expect(lines).toEqual(["ran", "closed"]);
        expect(code).toBe(0);
      });
    });

  test("while their tools are prepared and called, and no rejection is left unhandled", async () => {
    const [isolation] = ISOLATIONS;
    const { code, lines } = await play(`
      const component = ${JSON.stringify(await contractComponent())};
      const persistentShell = { when: { argument: "/kept" }, command: { argument: "/command" } };
      const tools = [
        ["host", { host: { module: folder + "/module.mjs" } }],
        ["quickjs", { quickjs: { source: "export default () => { for (;;); }" } }],
        ["wasm", { wasm: { component, export: "echo" } }],
        ["process", { process: { command: "sleep", args: ["1000"], input: "none", output: "text" } }],
        ["process", { process: { command: "sh", input: "none", output: "completion", persistentShell } }],
      ].filter(([sandbox]) => sandbox !== "process" || ${isolation !== undefined});
      const input = { kept: true, command: "sleep 1000" };
      console.log = () => {};
      for (const delayMs of [0, 0, 5, 20, 50, 100, 200, 400]) {
        const options = { wasm: { cacheDirectory: folder + "/cache-" + delayMs } };
        const sandboxes = await openSandboxes(options);
        const ends = Promise.allSettled(
          tools.flatMap(([sandbox, tool]) => [
            sandboxes.prepare(tool),
            run(sandboxes, sandbox, tool, input),
            run(sandboxes, sandbox, tool, input),
          ]),
        );
        await new Promise((resolve) => setTimeout(resolve, delayMs));
        await sandboxes.close();
        await new Promise((resolve) => setTimeout(resolve, 20));
        await ends;
      }
      process.stdout.write("closed");
    `);
    expect(lines).toEqual(["closed"]);
    expect(code).toBe(0);
  });

  test.skipIf(microvmUnavailable).for([
    ["at once", 0],
    ["when the next machine waits", 3_000],
  ] as const)("after a call in a virtual machine, %s", async ([, waitMs]) => {
    mkdirSync(join(folder, "image"), { recursive: true });
    const { code, lines } = await play(`
      const sandboxes = await openSandboxes({ microvm: {} });
      const microvm = { image: folder + "/image", command: "cat" };
      await sandboxes.prepare({ microvm });
      await run(sandboxes, "microvm", { microvm });
      await new Promise((resolve) => setTimeout(resolve, ${waitMs}));
      await sandboxes.close();
      console.log("closed");
    `);
    expect(lines).toEqual(["ran", "closed"]);
    expect(code).toBe(0);
  });
});
