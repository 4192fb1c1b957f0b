import { randomUUID } from "node:crypto";
import { mkdtempSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { ToolRegistry } from "../../../src/engine/registry.ts";
import { LockPins, pinned } from "../../../src/pins/lock-file.ts";
import { hostile, nodeServer, open } from "./open-hostile.ts";

/** How many processes of this machine have a text in their command lines. */
function processesWith(text: string): number {
  return readdirSync("/proc").filter((pid) => {
    try {
      return readFileSync(`/proc/${pid}/cmdline`, "utf8").includes(text);
    } catch {
      return false;
    }
  }).length;
}

describe("A hostile server", () => {
  test.each([
    "noise",
    "stderr-flood",
    "notification-flood",
    "request-flood",
    "exit-on-discover",
  ])("is used although it misbehaves (%s)", async (mode) => {
    // Only what hangs reaches these limits, also on a busy machine.
    await using opened = await open({ h: hostile(mode) }, { connectTimeoutMs: 60_000 });
    const execution = await opened.call("mcp_h_x", {}, { wallTimeMs: 60_000 });
    expect(execution).toMatchObject({ success: true });
  });

  test.each([
    "silent",
    "init-hang",
    "list-hang",
  ])("that does not answer costs only its own tools (%s)", async (mode) => {
    await using opened = await open({ h: hostile(mode), good: hostile("ok") }, { connectTimeoutMs: 1_000 });
    // On a busy machine, the good one takes longer, too.
    await expect.poll(() => opened.registry.names, { timeout: 15_000 }).toEqual(["mcp_good_x"]);
    expect(opened.mcp.servers.get("h")).toMatchObject({ problem: "it did not answer in time", tools: [] });
  });

  test.each([
    "init-version",
    "init-error",
    "init-huge",
    "exit-at-once",
  ])("that cannot be spoken to costs only its own tools (%s)", async (mode) => {
    await using opened = await open({ h: hostile(mode), good: hostile("ok") });
    expect(opened.registry.names).toEqual(["mcp_good_x"]);
    expect(opened.mcp.servers.get("h")?.problem).toMatch(/^the server cannot be connected to: /);
  });

  test("whose program does not exist costs only its own tools", async () => {
    await using opened = await open({ h: { command: "/no/such/program" }, good: hostile("ok") });
    expect(opened.registry.names).toEqual(["mcp_good_x"]);
    expect(opened.mcp.servers.get("h")?.problem).toMatch(
      /^the server cannot be connected to: it ended with the exit code 127 \(it sees only the system's programs, and what 'fs' grants\)/,
    );
  });

  test("that ends before it speaks has its exit code and why in the problem", async () => {
    const script = join(mkdtempSync(join(tmpdir(), "sandgate-mcp-")), "server.mjs");
    writeFileSync(script, 'console.error("no such option: --root"); process.exit(7);');
    await using opened = await open({ h: nodeServer(script) });
    expect(opened.mcp.servers.get("h")?.problem).toBe(
      "the server cannot be connected to: it ended with the exit code 7: no such option: --root",
    );
  });

  test("has its standard error in the log, in bounds", async () => {
    await using opened = await open({ h: hostile("stderr-lines") });
    await opened.notice(({ kind, message }) => kind === "stderr" && message === "two");
    expect(opened.notices.filter(({ kind }) => kind === "stderr").map(({ message }) => message)).toEqual([
      "one",
      "two",
    ]);
  });

  test("that floods does not flood the log", async () => {
    await using opened = await open({ h: hostile("notification-flood") });
    await new Promise((resolve) => setTimeout(resolve, 500));
    expect(opened.notices.filter(({ kind }) => kind === "problem").length).toBeLessThan(20);
  });

  test("is started again after it died, and its tools go on", async () => {
    await using opened = await open({ h: hostile("exit-once") });
    const before = await opened.call("mcp_h_x", { a: "?" });
    const lost = await opened.call("mcp_h_x", { a: "exit" });
    expect(lost.error).toMatchObject({ code: "sandbox_unavailable", effect: "unknown" });
    const after = await opened.call("mcp_h_x", { a: "?" });
    expect(after.success).toBe(true);
    expect(before.success).toBe(true);
    expect(opened.notices.filter(({ kind }) => kind === "connected")).toHaveLength(2);
  });

  test("that dies again and again is started five times, and is then down", async () => {
    await using opened = await open({ h: hostile("exit-at-once") });
    await opened.notice(({ kind }) => kind === "server_down");
    expect(opened.notices.filter(({ kind }) => kind === "server_down")).toHaveLength(1);
    const starts = opened.notices.filter(({ message }) => message.startsWith("it cannot be connected to"));
    expect(starts).toHaveLength(6);
    await expect(opened.mcp.servers.get("h")?.connection.wire()).rejects.toThrow("the server is down");
  }, 60_000);

  test("ends with the imports, even if it ignores signals", async () => {
    const mark = randomUUID();
    const opened = await open({ h: hostile("ignore-signals", mark) });
    expect(processesWith(mark)).toBeGreaterThan(0);
    await opened.mcp.close();
    await expect.poll(() => processesWith(mark), { timeout: 10_000 }).toBe(0);
    const { error } = await opened.call("mcp_h_x");
    expect(error).toMatchObject({ code: "sandbox_unavailable", effect: "none" });
    await opened.sandboxes.close();
  });

  test("has its instructions given to programs only if they were approved", async () => {
    const said = hostile("instructions", "Call x first.");
    await using opened = await open({ h: said });
    expect(opened.mcp.instructions()).toEqual(new Map([["h", "Call x first."]]));
    const servers = new Map(Array.from(opened.mcp.definitions(), ([name, each]) => [name, pinned(each)]));
    const pins = new LockPins({ tools: new Map(), servers });
    await using same = await open({ h: said }, { registry: new ToolRegistry({ pins }) });
    expect(same.mcp.instructions().size).toBe(1);
    const changed = hostile("instructions", "Call x last.");
    await using other = await open({ h: changed }, { registry: new ToolRegistry({ pins }) });
    expect(other.mcp.instructions()).toEqual(new Map());
  });

  test("sees neither files nor variables besides those that it was given", async () => {
    process.env["SANDGATE_TEST_SECRET"] = "not passed on";
    const server = nodeServer(new URL("../../fixtures/mcp/curious-server.mjs", import.meta.url).pathname);
    await using opened = await open({ h: { ...server, env: { GIVEN: "yes" } } });
    const { output } = await opened.call("mcp_h_look");
    const { env, files } = JSON.parse((output as { content: { text: string }[] }).content[0]?.text ?? "");
    expect(Object.keys(env)).not.toContain("SANDGATE_TEST_SECRET");
    expect(env.GIVEN).toBe("yes");
    expect(files).toEqual({ "/etc/shadow": "no", "/root": "no", [process.cwd()]: "no" });
  });
});
