import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { promisify } from "node:util";
import { afterAll, describe, expect, test } from "vitest";
import { unavailable } from "../process/availability.ts";

const run = promisify(execFile);
const fileOf = (name: string): string =>
  new URL(`../../fixtures/in-flight/${name}.ts`, import.meta.url).pathname;

const server: ChildProcess = spawn(process.execPath, [fileOf("server")], {
  stdio: ["ignore", "pipe", "inherit"],
});
afterAll(() => void server.kill());
const [port] = (await once(server.stdout as NonNullable<ChildProcess["stdout"]>, "data")) as [Buffer];

async function fill(kind: string): Promise<{ readonly ends: readonly string[]; readonly grownMiB: number }> {
  const origin = `http://127.0.0.1:${String(port).trim()}`;
  return measure("calls", kind, origin);
}

/** Runs a program that says by how many MiB it grew. */
async function measure(name: string, ...args: readonly string[]) {
  const { stdout } = await run(process.execPath, [fileOf(name), ...args]);
  return JSON.parse(stdout);
}

/** A session has 64 MiB; the rest is for threads and their heaps, and what the collector has not freed yet. */
const MOST_MIB = 800;

/** Without threads. */
const MOST_MIB_HERE = 500;

describe("60 calls of one session at once", () => {
  test.each([
    "responses",
    "requests",
    "results",
    "calls",
    ...(unavailable ? [] : ["programs"]),
    "endpoints",
    "decoded",
  ])("take little memory whatever they have in flight: %s", async (kind) => {
    const { ends, grownMiB } = await fill(kind);
    expect(grownMiB, ends.join(", ")).toBeLessThan(kind === "decoded" ? MOST_MIB_HERE : MOST_MIB);
  }, 180_000);
});

test("20 calls get large responses one after the other where there is no room for all at once", async () => {
  const { ends, grownMiB } = await fill("whole");
  expect(ends).toEqual(["7900000"]);
  expect(grownMiB).toBeLessThan(MOST_MIB + 300);
}, 310_000);

test("clients of MCP that do not read the progress of their calls hold little memory together", async () => {
  const { grownMiB } = await measure("mcp-clients");
  expect(grownMiB).toBeLessThan(MOST_MIB_HERE);
}, 300_000);
