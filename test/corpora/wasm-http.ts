import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import net, { type AddressInfo, isIP, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeEach, describe, expect, test, vi } from "vitest";
import { Egress } from "../../src/egress/egress.ts";
import type { SandboxOutcome } from "../../src/sandboxes/contract/outcome.ts";
import { WasmSandbox } from "../../src/sandboxes/wasm/wasm-sandbox.ts";
import { outsideComponent } from "../fixtures/wasm/outside-component.ts";
import { wasmTask } from "../fixtures/wasm/task.ts";

interface UrlRow {
  readonly id: string;
  readonly url: string;
  readonly expect: string;
  readonly why: string;
  readonly whatwg_host?: string;
}

const urls = readFileSync(`${process.env["SANDGATE_CORPORA"]}/ssrf/ssrf.jsonl`, "utf8")
  .trim()
  .split("\n")
  .map((line): UrlRow => JSON.parse(line));

/** Whoever owns a name has it point inward, but for one; what nobody owns cannot be resolved. */
const resolve = async (name: string): Promise<readonly string[]> => {
  if (name === "allowed.test") return ["93.184.216.34"];
  const embedded = /^(\d+\.\d+\.\d+\.\d+)\.nip\.io$/.exec(name)?.[1];
  if (embedded !== undefined) return [embedded];
  if (/(^|\.)(localhost|test)\.?$|metadata/.test(name)) return ["127.0.0.1"];
  throw new Error("no such name");
};

/** Stands for every public address; nothing else listens. */
const heads: string[] = [];
const standIn = createServer((request, response) => {
  heads.push(request.rawHeaders.join("\n"));
  response.end("{}");
});
await new Promise<void>((listening) => standIn.listen(0, "127.0.0.1", listening));
const { port: standInPort } = standIn.address() as AddressInfo;

const contacted: string[] = [];
const realConnect = net.connect;
vi.spyOn(net, "connect").mockImplementation(((options: net.TcpNetConnectOpts, ...more: never[]): Socket => {
  contacted.push(options.host ?? "");
  const isInside = isIP(options.host ?? "") === 0 && options.host !== "allowed.test";
  return isInside
    ? realConnect(options, ...more)
    : realConnect({ ...options, host: "127.0.0.1", port: standInPort }, ...more);
}) as typeof net.connect);

const cacheDirectory = mkdtempSync(join(tmpdir(), "sandgate-corpora-"));
const egress = new Egress({ resolve });
const openEgress = async (): Promise<Egress> => egress;
const sandbox = new WasmSandbox({ cacheDirectory, workers: { threads: 1 }, openEgress });
const component = await outsideComponent();
afterAll(async () => {
  await sandbox.close();
  await egress.close();
  standIn.closeAllConnections();
  standIn.close();
  rmSync(cacheDirectory, { recursive: true, force: true });
});
beforeEach(() => {
  contacted.length = 0;
  heads.length = 0;
});

/** Asks as a component does that takes a URL apart without knowing what is in it. */
function ask({ url, why }: UrlRow): Promise<SandboxOutcome> {
  const [, scheme = "", authority = "", path = ""] =
    /^([a-z][a-z0-9+.-]*):[/\\]*([^/?#\\]*)(.*)$/is.exec(url) ?? [];
  const input = ["0", /^https$/i.test(scheme) ? "1" : "0", authority, path || "/", "", "", "", "", "x"];
  const hosts = why.includes("allow-list = allowed.test") ? "allowed.test" : "*";
  const capabilities = { net: [`http://${hosts}:*`, `https://${hosts}:*`] };
  return sandbox.run(wasmTask(component, "http", input, { capabilities }));
}

describe("a component that is granted every origin", () => {
  test.each(urls.filter((row) => row.expect === "deny"))("cannot reach $id $url", async (row) => {
    const outcome = await ask(row);
    expect(outcome).toMatchObject({ status: "completed" });
    expect(outcome).not.toHaveProperty("output.status");
    expect(outcome).not.toHaveProperty("used.contacted");
    expect(contacted.filter((host) => isIP(host) !== 0)).toEqual([]);
    expect(heads).toEqual([]);
  });

  test.each(urls.filter((row) => row.expect === "allow"))("can reach $id $url", async (row) => {
    expect(await ask(row)).toMatchObject({ output: { status: 200 } });
    expect(contacted).toEqual([row.whatwg_host]);
  });

  test.each(
    urls.filter((row) => row.expect !== "allow" && row.expect !== "deny"),
  )("reaches nothing inside and injects nothing by $id $url", async (row) => {
    const [first, second] = [await ask(row), await ask(row)];
    expect(second.status).toBe(first.status);
    for (const head of heads) expect(head).not.toMatch(/x-evil/i);
  });
});
