import { generateKeyPairSync, type KeyObject } from "node:crypto";
import { once } from "node:events";
import { type RequestOptions, request } from "node:http";
import { onTestFinished } from "vitest";
import { ToolRegistry } from "../../src/engine/registry.ts";
import { defineTool, type Tool } from "../../src/engine/tool.ts";
import { type Executor, startExecutor as start } from "../../src/executor/executor.ts";
import type { ExecutorOptions } from "../../src/executor/options.ts";
import type { JsonObject } from "../../src/json/value.ts";
import { HostPolicy } from "../../src/policy/policy.ts";
import { readExecution, readProblem } from "../../src/remote-protocol/bodies.ts";
import { FRAMES_KEY_HEADER, FRAMES_PATH, FRAMES_PROTOCOL } from "../../src/remote-protocol/frames/frame.ts";
import type { RemoteExecution } from "../../src/remote-protocol/shapes.ts";
import { signRequest } from "../../src/remote-protocol/signatures/sign-request.ts";
import { openSandboxes } from "../../src/sandboxes/open-sandboxes.ts";

/** A tool whose calls end when the test releases them. */
export class HeldTool {
  readonly tool: Tool = defineTool({
    name: "hold",
    description: "Waits until it is released.",
    inputSchema: { type: "object" },
    host: (input, context) => {
      const { signal, callId } = context;
      this.started.push(callId);
      context.onOutput(`started ${callId}`);
      return new Promise((resolve, reject) => {
        this.#release.push(() => resolve(input));
        signal.addEventListener("abort", () => {
          this.cancelled.push(callId);
          reject(new Error("stopped"));
        });
      });
    },
  });
  readonly started: string[] = [];
  readonly cancelled: string[] = [];
  readonly #release: (() => void)[] = [];

  /** Ends the oldest running call. */
  release(): void {
    this.#release.shift()?.();
  }

  releaseAll(): void {
    for (const release of this.#release.splice(0)) release();
  }
}

/** A tool that returns its input and counts its calls. */
export class CountingTool {
  calls = 0;
  readonly tool: Tool = defineTool({
    name: "count",
    description: "Returns its input.",
    inputSchema: { type: "object" },
    host: (input) => {
      this.calls++;
      return input as JsonObject;
    },
  });
}

/** Starts an executor, which is closed when the test finishes. */
export async function startExecutor(
  tools: readonly Tool[],
  options: Partial<ExecutorOptions> = {},
): Promise<Executor> {
  const registry = new ToolRegistry();
  for (const tool of tools) registry.register(tool);
  const sandboxes = await openSandboxes();
  const executor = await start({
    registry,
    policy: new HostPolicy(),
    sandboxes,
    listen: "127.0.0.1:0",
    frames: true,
    ...options,
    limits: { drainMs: 500, ...options.limits },
  });
  onTestFinished(async () => {
    await executor.close();
    await sandboxes.close();
  });
  return executor;
}

/** A response of an executor. */
export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly text: string;
}

/** A request to an executor. */
export interface Sending {
  readonly method?: string;
  readonly path?: string;
  readonly headers?: Record<string, string>;
  readonly body?: string;
  readonly signal?: AbortSignal;
}

/** Sends a request to an executor, with only the given headers and those that HTTP requires. */
export async function send({ address }: { readonly address: string }, sending: Sending): Promise<Answer> {
  const { method = "POST", path = "/v1/dispatch", headers = {}, body = "", signal } = sending;
  const options: RequestOptions = {
    ...where(address),
    method,
    path,
    agent: false,
    ...(signal && { signal }),
    headers: { ...(method === "POST" && { "content-length": Buffer.byteLength(body) }), ...headers },
  };
  const sent = request(options);
  sent.end(body);
  const [response] = await once(sent, "response");
  const chunks: Buffer[] = [];
  for await (const chunk of response) chunks.push(chunk as Buffer);
  return { status: response.statusCode, headers: response.headers, text: Buffer.concat(chunks).toString() };
}

function where(address: string): RequestOptions {
  if (address.startsWith("unix:")) return { socketPath: address.slice(5) };
  const { hostname, port } = new URL(`http://${address}`);
  return { host: hostname.replace(/^\[|\]$/g, ""), port };
}

/** Returns the body of a dispatch request. */
export function dispatchBody(
  call: { readonly id?: string; readonly name: string; readonly arguments?: unknown },
  more: {
    readonly session?: string;
    readonly limits?: object;
    readonly capabilities?: object;
    readonly timeoutMs?: number;
  } = {},
): string {
  const { session = "session", limits = {}, capabilities = {}, timeoutMs } = more;
  return JSON.stringify({
    call: { id: "call", arguments: {}, ...call },
    session,
    grant: { limits, capabilities },
    timeoutMs,
  });
}

/** Sends a dispatch request. */
export function dispatch(
  executor: { readonly address: string },
  body: string,
  sending: Omit<Sending, "body"> = {},
): Promise<Answer> {
  const headers = { "content-type": "application/json", ...sending.headers };
  return send(executor, { ...sending, headers, body });
}

/** Returns the execution in a response. */
export function executionOf({ status, text }: Answer): RemoteExecution {
  if (status !== 200) throw new Error(`status ${status}: ${text}`);
  return readExecution(text);
}

/** Returns the status of a response and the code of its problem. */
export function problemOf({ status, text }: Answer): string {
  return `${status} ${readProblem(text).error.code}`;
}

/** Polls until a condition is met. */
export async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise((resolve) => setTimeout(resolve, 2));
}

/** A client of an executor with its own key. */
export class KeyedClient {
  readonly privateKey: KeyObject;
  readonly keyId: string;
  readonly publicKey: KeyObject;

  constructor(keyId: string) {
    const { publicKey, privateKey } = generateKeyPairSync("ed25519");
    this.keyId = keyId;
    this.publicKey = publicKey;
    this.privateKey = privateKey;
  }

  /** Returns the headers of a signed dispatch request. */
  sign({ address }: { readonly address: string }, body: string): Record<string, string> {
    const request = { method: "POST", authority: address, path: "/v1/dispatch", body } as const;
    return { ...signRequest(request, { keyId: this.keyId, privateKey: this.privateKey }) };
  }

  /** Returns the headers of a signed upgrade to frames, with its part of the key of the seals. */
  signUpgrade({ address }: { readonly address: string }, publicKey: string): Record<string, string> {
    const covered = { upgrade: FRAMES_PROTOCOL, [FRAMES_KEY_HEADER]: publicKey };
    const request = { method: "GET", authority: address, path: FRAMES_PATH, covered } as const;
    return {
      ...signRequest(request, { keyId: this.keyId, privateKey: this.privateKey }),
      [FRAMES_KEY_HEADER]: publicKey,
    };
  }

  /** Sends a signed dispatch request. */
  dispatch(executor: { readonly address: string }, body: string): Promise<Answer> {
    return dispatch(executor, body, { headers: this.sign(executor, body) });
  }
}
