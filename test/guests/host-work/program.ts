/** The process in which guests have the host work for them, one after another: the parent sends an operation and a seed. */
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openSandboxes } from "../../../src/sandboxes/open-sandboxes.ts";
import { GrantedTool } from "../../sandboxes/quickjs/granted-tool.ts";
import { Random } from "../fuzz/random.ts";
import { HOST_WORK, type HostWork, KNOWN_WORK } from "./cases.ts";
import { type HostWorkReport, type HostWorkRequest, WALL_TIME_MS } from "./report.ts";

/** A response whose body a guest reads. */
const LARGE_BYTES = 4 * 2 ** 20;

const MEMORY_BYTES = 128 * 2 ** 20;

const directory = mkdtempSync(join(tmpdir(), "sandgate-host-work-"));
process.on("exit", () => rmSync(directory, { recursive: true, force: true }));

const server = createServer(({ url }, response) => {
  response.end(url === "/large" ? Buffer.alloc(LARGE_BYTES, "é") : "");
});
await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
server.unref();
const url = `http://api.test:${(server.address() as AddressInfo).port}`;

process.on("message", (request: HostWorkRequest) => {
  work(request).then(
    (report) => process.send?.(report),
    (error: unknown) => process.send?.({ problem: String(error) }),
  );
});

function find({ operation, guest }: HostWorkRequest): HostWork {
  const number = Number(guest.split(" ")[1]);
  const found = guest.startsWith("known")
    ? KNOWN_WORK[operation]?.[number]
    : HOST_WORK[operation]?.(new Random(number));
  if (found === undefined) throw new Error(`there is no guest '${guest}' for '${operation}'`);
  return found;
}

async function work(request: HostWorkRequest): Promise<HostWorkReport> {
  const { before = "", code } = find(request);
  const source = `export default async (input, { fs, tools }) => {
    ${before}
    do { try { ${code} } catch {} await null; } while (input.again);
    return "worked";
  };`;
  await using sandboxes = await openSandboxes({
    workers: { threads: 1 },
    egress: { resolve: async () => ["127.0.0.1"] },
  });
  const harmless = new GrantedTool(sandboxes, "export default () => 1;");
  const capabilities = {
    random: true,
    fs: [{ directory, at: "/data", write: true }],
    net: [{ origin: url, addresses: ["127.0.0.1/32"] }],
  };
  const guest = new GrantedTool(sandboxes, { source });
  const call = (again: boolean, wallTimeMs: number) =>
    guest.call({ capabilities, input: { again, url }, limits: { wallTimeMs, memoryBytes: MEMORY_BYTES } });
  const once = await call(false, 30_000);
  const { error, receipt } = await call(true, WALL_TIME_MS);
  const { success: echoes } = await harmless.call();
  return {
    source,
    hasWorked: once.output === "worked",
    code: error?.code ?? "success",
    lateMs: receipt.used.wallTimeMs - WALL_TIME_MS,
    mayStillRun: receipt.mayStillRun === true,
    abandoned: sandboxes.abandonedThreads,
    echoes,
  };
}
