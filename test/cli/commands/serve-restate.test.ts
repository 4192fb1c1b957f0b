import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join, resolve } from "node:path";
import type { Readable } from "node:stream";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { freePorts } from "../../restate/free-ports.ts";
import { type RestateNode, type RestateNodes, startRestate } from "../../restate/restate-nodes.ts";
import { createFolder } from "../sandgate.ts";

const MAIN = resolve(import.meta.dirname, "../../../src/cli/main.ts");
const COMPILED = resolve(import.meta.dirname, "../../compiled.ts");
const TOKEN = "x".repeat(40);
const APPROVER = "y".repeat(40);

let restate: RestateNodes;
let folder: string;
const servers: ChildProcess[] = [];

/** Starts a server of the folder, and returns its URL. */
async function start(
  ...more: readonly string[]
): Promise<{ readonly url: string; readonly child: ChildProcess }> {
  const config = join(folder, "sandgate.yaml");
  const child = spawn(
    process.execPath,
    ["--import", COMPILED, MAIN, "serve", "--config", config, "--listen", "127.0.0.1:0", ...more],
    { stdio: ["ignore", "pipe", "pipe"] },
  );
  servers.push(child);
  const errors: string[] = [];
  child.stderr?.on("data", (chunk) => errors.push(String(chunk)));
  const line = await Promise.race([
    once(child.stdout as Readable, "data").then(([chunk]) => String(chunk)),
    once(child, "exit").then(() => ""),
  ]);
  const address = /^listening on (.+)\n/.exec(line)?.[1];
  if (address === undefined) throw new Error(errors.join(""));
  return { url: `http://${address}`, child };
}

/** What the routes answer, of which a test reads some. */
interface Body {
  readonly id?: string;
  readonly messages?: readonly { readonly executions: readonly unknown[] }[];
  readonly confirmations?: readonly { readonly requestId: string; readonly digest: string }[];
}

async function request(
  url: string,
  method = "GET",
  body?: unknown,
  token = TOKEN,
): Promise<{ status: number; body: Body }> {
  const response = await fetch(url, {
    method,
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  return { status: response.status, body: await response.json() };
}

beforeAll(async () => {
  restate = await startRestate();
});
afterAll(async () => {
  for (const child of servers) child.kill("SIGKILL");
  await restate[Symbol.asyncDispose]();
});

async function createProject(): Promise<string> {
  const { ingress, admin } = restate.nodes[0] as RestateNode;
  const [port] = await freePorts(1);
  return createFolder({
    token: TOKEN,
    approver: APPROVER,
    "note.mjs": `
import { appendFileSync } from "node:fs";
export default async ({ text, ms = 0 }) => {
  appendFileSync(new URL("effects", import.meta.url), text + "\\n");
  await new Promise((resolve) => setTimeout(resolve, ms));
  return text;
};
`,
    "sandgate.yaml": `
tools:
  - name: note
    description: Notes a text.
    inputSchema: { type: object }
    confirm: auto
    host: { module: note.mjs }
  - name: risky
    description: Notes a text after a person has allowed it.
    inputSchema: { type: object }
    confirm: always
    host: { module: note.mjs }
policy:
  rules:
    - tools: ["*"]
      effect: allow
      sandboxes: [host]
server:
  credentials:
    - id: ann
      token: { file: token }
      roles: [caller]
    - id: bob
      token: { file: approver }
      roles: [approver]
      approves: [ann]
  sessions: true
durable:
  restate:
    ingress: ${ingress}
    admin: ${admin}
    listen: { port: ${port}, reusePort: true }
`,
  });
}

describe("sandgate serve on Restate", () => {
  test("answers for the sessions of other servers, and goes on when one is killed", async () => {
    folder = await createProject();
    const [one, two] = [await start(), await start()];
    const { body: session } = await request(`${one.url}/v1/sessions`, "POST", {});
    const turns = (url: string) => `${url}/v1/sessions/${session.id}/turns`;
    const call = (id: string, name: string, args: object) => ({ id, name, arguments: args });
    const message = { turnId: "t", messageId: "m", calls: [call("c", "note", { text: "first" })] };
    expect(await request(turns(one.url), "POST", message)).toMatchObject({ status: 202 });
    const asked = { turnId: "u", messageId: "n", calls: [call("d", "risky", { text: "second" })] };
    expect(await request(turns(two.url), "POST", asked)).toMatchObject({ status: 202 });
    await vi.waitFor(async () => {
      const { body } = await request(`${two.url}/v1/sessions/${session.id}/turns/t`);
      expect(body.messages?.[0]?.executions[0]).toMatchObject({ success: true, output: "first" });
    }, 20_000);
    one.child.kill("SIGKILL");
    let confirmation: NonNullable<Body["confirmations"]>[number] | undefined;
    await vi.waitFor(async () => {
      const { body } = await request(`${two.url}/v1/confirmations`, "GET", undefined, APPROVER);
      confirmation = body.confirmations?.[0];
      expect(confirmation).toBeDefined();
    }, 20_000);
    const { requestId = "", digest = "" } = confirmation ?? {};
    const answer = `${two.url}/v1/sessions/${session.id}/turns/u/confirmations/${requestId}`;
    expect(await request(answer, "POST", { decision: "allow", digest }, APPROVER)).toMatchObject({
      status: 200,
    });
    await vi.waitFor(async () => {
      const { body } = await request(`${two.url}/v1/sessions/${session.id}/turns/u`);
      expect(body.messages?.[0]?.executions[0]).toMatchObject({ success: true, output: "second" });
    }, 20_000);
    two.child.kill("SIGTERM");
    const [code] = await once(two.child, "exit");
    expect(code).toBe(0);
  });

  test("says at the start that Restate cannot be reached", async () => {
    folder = await createProject();
    await expect(start("--restate", "http://127.0.0.1:1")).rejects.toThrow(/Restate cannot be reached/);
  });
});
