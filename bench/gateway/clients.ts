import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { Pool } from "undici";
import { INPUT } from "../setting.ts";

/** The revisions of MCP that are measured. */
export type Revision = "2025-11-25" | "2026-07-28";

/** What a call carries besides its arguments: nothing, or a token for progress, which the SDK's part of a gateway handles. */
export type CallForm = "plain" | "with a progress token";

/** A client that does no more than it must, so that its own time is small beside that of what it calls. */
export interface BareClient {
  /** The process that it speaks to; `undefined` if it was not started by it. */
  readonly pid: number | undefined;
  /** Sends a request, and returns the text of its result. */
  request(method: string, params?: object): Promise<string>;
  close(): void;
}

/** The name of the first tool that echoes, as a gateway lists it. */
export async function echoTool(client: BareClient): Promise<string> {
  const { result } = JSON.parse(await client.request("tools/list")) as {
    readonly result: { readonly tools: readonly { readonly name: string }[] };
  };
  const found = result.tools.find(({ name }) => name.endsWith("echo"));
  if (found === undefined) throw new Error("the gateway lists no tool whose name ends with echo");
  return found.name;
}

const ECHOED = JSON.stringify(JSON.stringify(INPUT));

let tokens = 0;

/** Calls a tool that echoes, and checks its answer. */
export async function callEcho(client: BareClient, name: string, form: CallForm): Promise<void> {
  const _meta = form === "plain" ? undefined : { progressToken: ++tokens };
  const answer = await client.request("tools/call", { name, arguments: INPUT, ...(_meta && { _meta }) });
  if (!answer.includes(ECHOED)) throw new Error(`not the echo of the call: ${answer.slice(0, 500)}`);
}

function paramsOf(revision: Revision, params: object & { readonly _meta?: object }): object {
  if (revision === "2025-11-25") return params;
  const _meta = {
    ...params._meta,
    "io.modelcontextprotocol/protocolVersion": revision,
    "io.modelcontextprotocol/clientInfo": { name: "bench", version: "1" },
    "io.modelcontextprotocol/clientCapabilities": {},
  };
  return { ...params, _meta };
}

const INITIALIZE = {
  protocolVersion: "2025-11-25",
  capabilities: {},
  clientInfo: { name: "bench", version: "1" },
};

/** Connects to an address. */
export async function connectHttp(url: string, revision: Revision, token: string): Promise<BareClient> {
  const { origin, pathname: path } = new URL(url);
  const pool = new Pool(origin, { connections: 64 });
  const headers: Record<string, string> = {
    accept: "application/json, text/event-stream",
    authorization: `Bearer ${token}`,
    "content-type": "application/json",
  };
  let id = 0;
  const post = async (method: string, params: object & { readonly name?: string }, isRequest = true) => {
    const message = {
      jsonrpc: "2.0",
      ...(isRequest && { id: ++id }),
      method,
      params: paramsOf(revision, params),
    };
    const named = revision === "2026-07-28" && {
      "mcp-method": method,
      ...(params.name !== undefined && { "mcp-name": params.name }),
    };
    const response = await pool.request({
      path,
      method: "POST",
      headers: { ...headers, ...named },
      body: JSON.stringify(message),
    });
    const text = await response.body.text();
    const { statusCode } = response;
    if (statusCode >= 300) throw new Error(`HTTP ${statusCode} for ${method}: ${text.slice(0, 500)}`);
    return { text, headers: response.headers };
  };
  if (revision === "2026-07-28") headers["mcp-protocol-version"] = revision;
  else {
    const { headers: answered } = await post("initialize", INITIALIZE);
    headers["mcp-protocol-version"] = revision;
    const session = answered["mcp-session-id"];
    if (typeof session === "string") headers["mcp-session-id"] = session;
    await post("notifications/initialized", {}, false);
  }
  return {
    pid: undefined,
    request: async (method, params = {}) => messageIn((await post(method, params)).text),
    close: () => void pool.destroy(),
  };
}

/** The answer in a body, which is a document or a stream of events. */
function messageIn(text: string): string {
  if (text.startsWith("{")) return text;
  const line = text.split("\n").findLast((each) => each.startsWith("data:") && each.includes('"id"'));
  if (line === undefined) throw new Error(`no answer: ${text.slice(0, 500)}`);
  return line.slice("data:".length);
}

/** Starts a command, and speaks with it over its standard streams. */
export async function connectStdio(
  command: string,
  args: readonly string[],
  revision: Revision,
): Promise<BareClient> {
  const child: ChildProcess = spawn(command, args, { stdio: ["pipe", "pipe", "ignore"] });
  const waiting = new Map<number, (line: string) => void>();
  const { stdin, stdout, pid } = child;
  if (stdin === null || stdout === null) throw new Error("the command has no standard streams");
  createInterface(stdout).on("line", (line) => {
    const { id, method } = JSON.parse(line) as { readonly id?: number; readonly method?: string };
    if (id === undefined || method !== undefined) return;
    waiting.get(id)?.(line);
    waiting.delete(id);
  });
  const ended = once(child, "exit").then(() => {
    throw new Error(`${command} has ended`);
  });
  ended.catch(() => {});
  let id = 0;
  const request = (method: string, params: object = {}): Promise<string> => {
    const { promise, resolve } = Promise.withResolvers<string>();
    waiting.set(++id, resolve);
    stdin.write(`${JSON.stringify({ jsonrpc: "2.0", id, method, params: paramsOf(revision, params) })}\n`);
    return Promise.race([promise, ended]);
  };
  if (revision === "2025-11-25") {
    await request("initialize", INITIALIZE);
    stdin.write(`${JSON.stringify({ jsonrpc: "2.0", method: "notifications/initialized" })}\n`);
  }
  return { pid, request, close: () => void child.kill("SIGKILL") };
}
