import { createServer, type Server, type Socket } from "node:net";
import type { DispatchContext } from "../../../../src/engine/call/context.ts";
import type { ToolExecution } from "../../../../src/engine/call/execution.ts";
import { ToolDispatchEngine } from "../../../../src/engine/engine.ts";
import { ToolRegistry } from "../../../../src/engine/registry.ts";
import type { Tool } from "../../../../src/engine/tool.ts";
import type { JsonObject } from "../../../../src/json/value.ts";
import type { Capabilities } from "../../../../src/policy/grant/capabilities.ts";
import type { ResourceLimits } from "../../../../src/policy/grant/limits.ts";
import { allow } from "../../../../src/policy/policy.ts";
import type { Sandboxes } from "../../../../src/sandboxes/open-sandboxes.ts";
import type { ExecutorImplementation } from "../../../../src/tool/implementations/remote-implementation.ts";
import type { SideEffects } from "../../../../src/tool/side-effects.ts";

/** Options of one call. */
export interface RemoteCall {
  readonly id?: string;
  readonly input?: JsonObject;
  readonly limits?: ResourceLimits;
  readonly capabilities?: Capabilities;
  readonly context?: Partial<DispatchContext>;
  /** Default: none is declared. */
  readonly sideEffects?: SideEffects;
  /** Further members of the tool on this side. */
  readonly tool?: Partial<Tool>;
}

/** Dispatches one call of a tool on executors. */
export async function callOn(
  executor: ExecutorImplementation["executor"],
  name: string,
  sandboxes: Sandboxes,
  {
    id = "call",
    input = {},
    limits = {},
    capabilities = {},
    context = {},
    sideEffects,
    tool: more,
  }: RemoteCall = {},
): Promise<ToolExecution> {
  const tool = {
    name,
    description: "",
    inputSchema: { type: "object" },
    remote: { executor },
    ...(sideEffects && { sideEffects }),
    ...more,
  };
  const execution = await new ToolDispatchEngine().dispatch(
    { id, name, arguments: input },
    {
      registry: new ToolRegistry().register(tool),
      policy: { check: () => allow({ sandbox: "remote", limits, capabilities }) },
      sandboxes,
      sessionId: "session",
      ...context,
    },
  );
  if (execution === null) throw new Error("the hooks abort no call");
  return execution;
}

/** A request that a peer received. */
export interface SeenRequest {
  readonly head: string;
  readonly body: string;
  /** For a dispatch: the call's id, name and arguments. */
  readonly call: { readonly id: string; readonly name: string; readonly arguments: JsonObject };
}

/** A peer that responds with any bytes, valid HTTP or not. */
export class RawPeer {
  /** Every complete dispatch. */
  readonly seen: SeenRequest[] = [];
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  #answer: (socket: Socket, request: SeenRequest) => void = () => {};

  constructor() {
    this.#server = createServer((socket) => {
      this.#sockets.add(socket);
      socket.on("error", () => {});
      socket.on("close", () => this.#sockets.delete(socket));
      let text = "";
      socket.on("data", (chunk) => {
        text += chunk.toString("latin1");
        // Health checks.
        text = text.replace(/^GET [\s\S]*?\r\n\r\n/, () => {
          socket.write(response(404, ""));
          return "";
        });
        const [head = "", length = "0"] = /^[\s\S]*?content-length: (\d+)[\s\S]*?\r\n\r\n/i.exec(text) ?? [];
        if (head === "" || text.length < head.length + Number(length)) return;
        const body = text.slice(head.length, head.length + Number(length));
        text = text.slice(head.length + Number(length));
        const request = { head, body, call: JSON.parse(body).call };
        this.seen.push(request);
        this.#answer(socket, request);
      });
    });
  }

  /** Starts it, and returns its URL. */
  async start(): Promise<string> {
    await new Promise<void>((listening) => this.#server.listen(0, "127.0.0.1", listening));
    return `http://127.0.0.1:${(this.#server.address() as { readonly port: number }).port}`;
  }

  /** Sets how it responds to later requests. */
  answer(answer: (socket: Socket, request: SeenRequest) => void): void {
    this.seen.length = 0;
    this.#answer = answer;
  }

  async stop(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

/** Writes a response with a body in HTTP/1.1. */
export function response(status: number, body: string, headers: Record<string, string> = {}): string {
  const all = {
    "content-type": "application/json",
    "content-length": String(Buffer.byteLength(body)),
    ...headers,
  };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  return `HTTP/1.1 ${status} X\r\n${lines.join("")}\r\n${body}`;
}

/** Writes the execution of a call as an honest executor would, with some members changed. */
export function execution({ call }: SeenRequest, change: object = {}): string {
  return JSON.stringify({
    callId: call.id,
    toolName: call.name,
    arguments: call.arguments,
    success: true,
    output: "done",
    durationMs: 1,
    sandbox: "host",
    receipt: { enforced: { wallTimeMs: 1, outputBytes: 1 }, used: { wallTimeMs: 1 } },
    ...change,
  });
}
