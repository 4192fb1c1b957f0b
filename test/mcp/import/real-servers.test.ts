import { mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import type { StdioServerOptions } from "../../../src/mcp/import/server-options.ts";
import type { FsGrant } from "../../../src/policy/grant/fs-grant.ts";
import { open } from "./open-hostile.ts";

const NODE = realpathSync(process.execPath);
const require = createRequire(import.meta.url);
const directory = realpathSync(mkdtempSync(join(tmpdir(), "sandgate-mcp-")));
afterAll(() => rmSync(directory, { recursive: true }));

/** A reference server in the sandbox: with Node.js, the installed packages, and what it is granted. */
function reference(
  name: string,
  args: readonly string[] = [],
  fs: readonly FsGrant[] = [],
): StdioServerOptions {
  const manifest = require.resolve(`@modelcontextprotocol/server-${name}/package.json`);
  const packages = realpathSync(resolve(dirname(manifest), "../.."));
  const { bin } = JSON.parse(readFileSync(manifest, "utf8")) as { bin: Record<string, string> };
  const script = join(packages, "@modelcontextprotocol", `server-${name}`, Object.values(bin)[0] ?? "");
  return {
    command: NODE,
    args: [script, ...args],
    fs: [...fs, { file: NODE, at: NODE }, { directory: packages, at: packages }],
    limits: { processes: 64, memoryBytes: 1024 ** 3 },
  };
}

describe("The reference servers of MCP", () => {
  test("everything: lists its tools, and answers with content of all kinds", async () => {
    await using opened = await open({ all: reference("everything", ["stdio"]) });
    expect(opened.mcp.servers.get("all")).toMatchObject({ problem: undefined });
    expect(opened.registry.names.length).toBeGreaterThan(8);
    const echoed = await opened.call("mcp_all_echo", { message: "héllo" });
    expect(echoed.output).toEqual({ content: [{ type: "text", text: "Echo: héllo" }] });
    expect((await opened.call("mcp_all_echo", { message: 7 })).error?.code).toBe("validation_error");
    const image = await opened.call("mcp_all_get-tiny-image");
    expect(image.output).toMatchObject({
      content: expect.arrayContaining([{ type: "image", mimeType: "image/png", data: expect.any(String) }]),
    });
    const structured = await opened.call("mcp_all_get-structured-content", { location: "New York" });
    expect(structured.metadata).toMatchObject({
      mcp: { structuredContent: { temperature: expect.any(Number) } },
    });
    const problems = opened.notices.filter(({ kind }) => kind === "problem");
    // It has one tool that is called only as a task.
    expect(problems.map(({ message }) => message)).toEqual([
      expect.stringContaining("called only as a task, which is not supported"),
    ]);
  });

  test("everything: reports progress, and is told of a cancellation", async () => {
    await using opened = await open({ all: reference("everything", ["stdio"]) });
    const name = "mcp_all_trigger-long-running-operation";
    const done = await opened.call(name, { duration: 1, steps: 4 });
    expect(done.success).toBe(true);
    expect(opened.seen.filter(({ type }) => type === "tool.log").length).toBeGreaterThan(1);
    const { error } = await opened.call(name, { duration: 60, steps: 4 }, { wallTimeMs: 500 });
    expect(error?.code).toBe("timeout");
    expect((await opened.call("mcp_all_echo", { message: "still there" })).success).toBe(true);
  });

  test("filesystem: reads and writes in the directory that it was granted, and nowhere else", async () => {
    writeFileSync(join(directory, "a.txt"), "of a");
    const granted = { directory, at: directory, write: true };
    await using opened = await open({ files: reference("filesystem", [directory, "/etc"], [granted]) });
    const read = await opened.call("mcp_files_read_text_file", { path: join(directory, "a.txt") });
    expect(read.output).toEqual({ content: [{ type: "text", text: "of a" }] });
    const written = await opened.call("mcp_files_write_file", {
      path: join(directory, "b.txt"),
      content: "of b",
    });
    expect(written.success).toBe(true);
    expect(readFileSync(join(directory, "b.txt"), "utf8")).toBe("of b");
    // The server itself would allow this one.
    const outside = await opened.call("mcp_files_read_text_file", { path: "/etc/shadow" });
    expect(outside.error).toMatchObject({ code: "execution_error" });
  });

  test("memory: keeps its graph in the one file that it can write", async () => {
    const fs = [{ directory, at: directory, write: true }];
    const env = { MEMORY_FILE_PATH: join(directory, "memory.jsonl") };
    await using opened = await open({ memory: { ...reference("memory", [], fs), env } });
    const entities = [{ name: "Ada", entityType: "person", observations: ["wrote programs"] }];
    expect((await opened.call("mcp_memory_create_entities", { entities })).success).toBe(true);
    const graph = await opened.call("mcp_memory_read_graph");
    expect(graph.metadata).toMatchObject({ mcp: { structuredContent: { entities } } });
    expect(readFileSync(env.MEMORY_FILE_PATH, "utf8")).toContain("wrote programs");
  });
});
