import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import type { ToolExecution } from "../../src/engine/call/execution.ts";
import { ToolDispatchEngine } from "../../src/engine/engine.ts";
import { ERROR_CODES } from "../../src/engine/errors.ts";
import { ToolRegistry } from "../../src/engine/registry.ts";
import { allow } from "../../src/policy/policy.ts";
import { openSandboxes } from "../../src/sandboxes/open-sandboxes.ts";
import { GrantedTool } from "../sandboxes/quickjs/granted-tool.ts";

interface Snippet {
  readonly id: string;
  readonly title: string;
  readonly code: string;
  readonly expect: string;
}

const snippets = readFileSync(`${process.env["SANDGATE_CORPORA"]}/js/own.jsonl`, "utf8")
  .trim()
  .split("\n")
  .map((line): Snippet => JSON.parse(line));

const WALL_TIME_MS = 500;

/** What does not end at its deadline does not end. `npm run test:guests` measures how late it ends. */
const GRACE_MS = 3_000;
const CANARY = "CANARY-7f3a";
process.env["SANDGATE_CANARY"] = CANARY;

const sandboxes = await openSandboxes({ workers: { threads: 2 } });
afterAll(() => sandboxes.close());
const engine = new ToolDispatchEngine();
const limits = { wallTimeMs: WALL_TIME_MS, memoryBytes: 32 * 2 ** 20 };
const policy = { check: () => allow({ sandbox: "quickjs", limits }) };

// Snippets are scripts: an indirect eval runs one as it was meant, and gives its last value. They look for files in
// a global.
const toolOf = (code: string): string => `
  export default async (input, { fs }) => {
    if (fs !== undefined) {
      globalThis.fs = { ...fs, readFile: (path) => fs.readFile(typeof path === "string" ? "/" + path : path) };
    }
    const last = await (0, eval)(${JSON.stringify(code)});
    return typeof last === "object" ? last : String(last);
  }`;

async function run(source: string): Promise<ToolExecution> {
  const tool = { name: "snippet", description: "", inputSchema: {}, quickjs: { source } };
  const registry = new ToolRegistry().register(tool);
  const call = { id: "1", name: "snippet", arguments: {} };
  const execution = await engine.dispatch(call, { registry, policy, sandboxes, sessionId: "s" });
  if (execution === null) throw new Error("nobody aborts here");
  return execution;
}

/** The globals that docs/javascript-tools.md promises, and no others. */
const documented = /The globals are (.*?)\./s.exec(
  readFileSync(new URL("../../docs/javascript-tools.md", import.meta.url), "utf8"),
)?.[1];

describe("hostile JavaScript is contained", () => {
  let firstRss: number | undefined;

  test.each(snippets)("$id: $title", async ({ code, expect: expected, title }) => {
    const execution = await run(toolOf(code));
    expect(execution.receipt.used.wallTimeMs).toBeLessThan(WALL_TIME_MS + GRACE_MS);
    const text = JSON.stringify(execution);
    expect(text).not.toContain(CANARY);
    if (execution.error !== undefined) {
      expect(ERROR_CODES).toContain(execution.error.code);
      expect(execution.error.effect).toBe("none");
    } else if (expected === "SAFE") {
      expect(execution.output).toMatch(/^SAFE/);
    } else if (expected === "documented" && execution.output !== "SAFE") {
      expect(documented).toContain(`\`${title.replace("global ", "")}\``);
    }
    for (let call = 0; call < 100; call++) {
      expect((await run("export default () => 'fine'")).output).toBe("fine");
    }
    firstRss ??= process.memoryUsage().rss;
  });

  test("and the process has not grown", () => {
    expect((process.memoryUsage().rss - (firstRss ?? 0)) / 2 ** 20).toBeLessThan(256);
  });
});

describe("hostile JavaScript that was granted files and an origin", () => {
  const base = mkdtempSync(join(tmpdir(), "sandgate-quickjs-"));
  const directory = join(base, "W/inner");
  mkdirSync(directory, { recursive: true });
  writeFileSync(join(base, "secret.txt"), CANARY);
  writeFileSync(join(base, "W/secret.txt"), CANARY);
  mkdirSync(join(base, "outside"));
  writeFileSync(join(base, "outside/secret.txt"), CANARY);
  symlinkSync(join(base, "outside/secret.txt"), join(directory, "link_abs_out"));
  afterAll(() => rmSync(base, { recursive: true }));

  // Nobody listens at the discard port.
  const net = [{ origin: "http://127.0.0.1:9", addresses: ["127.0.0.1/32"] }];
  const capabilities = { net, fs: [{ directory, at: "/", write: true }] };

  const expectUntouchedOutside = (): void => {
    expect(readdirSync(base).sort()).toEqual(["W", "outside", "secret.txt"]);
    expect(readdirSync(join(base, "W")).sort()).toEqual(["inner", "secret.txt"]);
    expect(readFileSync(join(base, "W/secret.txt"), "utf8")).toBe(CANARY);
  };

  test.each(snippets)("$id: $title", async ({ code }) => {
    const execution = await new GrantedTool(sandboxes, toolOf(code)).call({ capabilities, limits });
    expect(execution.receipt.used.wallTimeMs).toBeLessThan(WALL_TIME_MS + GRACE_MS);
    expect(JSON.stringify(execution)).not.toContain(CANARY);
    expectUntouchedOutside();
  });

  test("reaches nothing outside by any path", async () => {
    const strings = readFileSync(`${process.env["SANDGATE_CORPORA"]}/paths/paths.jsonl`, "utf8")
      .trim()
      .split("\n")
      .map((line): string => JSON.parse(line).path);
    // In the source, as arguments are refused that hold half of a surrogate pair.
    const sourceOf = (paths: readonly string[]): string => `export default (input, { fs }) => {
      const read = [];
      for (const path of ${JSON.stringify(paths)}) {
        for (const act of [
          () => read.push(fs.readFile(path)), () => fs.writeFile(path, "WRITTEN"), () => read.push(fs.readFile(path)),
          () => fs.readdir(path), () => fs.rename(path, path + "x"), () => fs.mkdir(path), () => fs.rm(path),
        ]) {
          try { act(); } catch ({ name }) { if (name !== "FsError") throw new Error(name); }
        }
      }
      return read;
    }`;
    const paths = strings.flatMap((path) => [path, `/${path}`]);
    let read = 0;
    for (let from = 0; from < paths.length; from += 50) {
      const tool = new GrantedTool(sandboxes, sourceOf(paths.slice(from, from + 50)));
      const { output, error } = await tool.call({ capabilities });
      expect(error).toBeUndefined();
      for (const text of output as string[]) expect(text).toBe("WRITTEN");
      read += (output as string[]).length;
    }
    expect(read).toBeGreaterThan(0);
    expectUntouchedOutside();
  });
});
