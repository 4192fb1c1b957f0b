import { once } from "node:events";
import { type IncomingMessage, request } from "node:http";
import { text } from "node:stream/consumers";
import { expect, onTestFinished } from "vitest";
import { ToolRegistry } from "../../src/engine/registry.ts";
import { defineTool, type Tool } from "../../src/engine/tool.ts";
import type { RouteAccess } from "../../src/http/access.ts";
import type { Credential } from "../../src/http/clients.ts";
import { problemIn } from "../../src/json/shape.ts";
import type { JsonObject } from "../../src/json/value.ts";
import { HostPolicy } from "../../src/policy/policy.ts";
import { StreamReader } from "../../src/remote-protocol/event-stream.ts";
import { openSandboxes } from "../../src/sandboxes/open-sandboxes.ts";
import type { ServerOptions } from "../../src/server/options.ts";
import { type Server, startServer as start } from "../../src/server/server.ts";
import { OPERATIONS } from "../../src/shapes/api.ts";
import { CallFeedEvent } from "../../src/shapes/calls.ts";
import { SessionEvent } from "../../src/shapes/turns.ts";
import { type Answer, type Sending, send } from "../executor/harness.ts";

/** The tokens of the clients that most tests need. */
export const TOKENS = {
  alice: "token-of-the-agent-alice",
  bob: "token-of-the-agent-bob-1",
  carol: "token-of-the-person-carol",
  dave: "token-of-the-person-dave",
  erin: "token-of-the-reader-erin",
  frank: "token-of-the-admin-frank",
  mallory: "token-of-the-person-mallory",
  heidi: "token-of-the-client-heidi",
} as const;

export type ClientName = keyof typeof TOKENS;

/** Two agents, two people who approve for alice, one who approves for herself only, a reader and an admin. */
export const CREDENTIALS: readonly Credential[] = [
  { id: "alice", token: TOKENS.alice, roles: ["caller"] },
  { id: "bob", token: TOKENS.bob, roles: ["caller"] },
  { id: "carol", token: TOKENS.carol, roles: ["approver"], approves: ["alice", "team-*"] },
  { id: "dave", token: TOKENS.dave, roles: ["approver"], approves: ["*"] },
  { id: "erin", token: TOKENS.erin, roles: ["reader"] },
  { id: "frank", token: TOKENS.frank, roles: ["admin"] },
  { id: "mallory", token: TOKENS.mallory, roles: ["approver"] },
];

/** Serves the executor too, with one more client, who may use nothing else. */
export const WITH_EXECUTOR: Pick<ServerOptions, "executor" | "credentials"> = {
  executor: true,
  credentials: [...CREDENTIALS, { id: "heidi", token: TOKENS.heidi, roles: ["client"] }],
};

/** Who may use each route, by its method and path. */
export const ROUTE_ACCESS: Readonly<Record<string, RouteAccess>> = Object.fromEntries(
  Object.values(OPERATIONS).map(({ method, path, access }) => [`${method} ${path}`, access]),
);

/** Starts a server, which is closed when the test finishes. */
export async function startServer(
  tools: readonly Tool[],
  options: Partial<ServerOptions> = {},
): Promise<Server> {
  const registry = new ToolRegistry();
  for (const tool of tools) registry.register(tool);
  const sandboxes = await openSandboxes();
  const server = await start({
    registry,
    policy: new HostPolicy(),
    sandboxes,
    listen: "127.0.0.1:0",
    credentials: CREDENTIALS,
    sessions: {},
    ...options,
    limits: { drainMs: 500, ...options.limits },
  });
  onTestFinished(async () => {
    await server.close();
    await sandboxes.close();
  });
  return server;
}

/** Sends a request without the end of its body. Resolves when the server has it. */
export async function begin(
  { address }: { readonly address: string },
  path: string,
  body: string,
  headers: Readonly<Record<string, string>>,
): Promise<{ finish(): Promise<Answer> }> {
  const { hostname, port } = new URL(`http://${address}`);
  const sent = request({
    host: hostname,
    port,
    path,
    method: "POST",
    agent: false,
    headers: {
      "content-type": "application/json",
      "content-length": Buffer.byteLength(body),
      expect: "100-continue",
      ...headers,
    },
  });
  onTestFinished(() => void sent.destroy());
  const answered = once(sent, "response") as Promise<[IncomingMessage]>;
  answered.catch(() => {});
  sent.on("error", () => {});
  sent.flushHeaders();
  await once(sent, "continue");
  sent.write(body.slice(0, 10));
  return {
    finish: async () => {
      sent.end(body.slice(10));
      const [response] = await answered;
      return { status: response.statusCode ?? 0, headers: response.headers, text: await text(response) };
    },
  };
}

/** A tool that writes, so that people are asked about it, and records its calls. */
export class WritingTool {
  readonly inputs: unknown[] = [];
  readonly tool: Tool;

  constructor(name = "write_note", more: Pick<Partial<Tool>, "sideEffects" | "confirm"> = {}) {
    this.tool = defineTool({
      name,
      description: "Writes a note.",
      inputSchema: { type: "object", properties: { text: { type: "string" } } },
      sideEffects: "write",
      host: (input) => {
        this.inputs.push(input);
        return { written: (input as JsonObject)["text"] ?? null };
      },
      ...more,
    });
  }
}

/** A confirmation as a client sees it. */
export interface ListedConfirmation {
  readonly requestId: string;
  readonly sessionId: string;
  readonly turnId: string;
  readonly callId: string;
  readonly digest: string;
  readonly toolName: string;
  readonly inputSummary: string;
  readonly expiresAt: number;
  readonly choices: readonly string[];
}

/** A client of a server, with the token of a name. */
export class TestClient {
  readonly #server: { readonly address: string };
  readonly #token: string;

  constructor(server: { readonly address: string }, name: ClientName | { readonly token: string }) {
    this.#server = server;
    this.#token = typeof name === "string" ? TOKENS[name] : name.token;
  }

  get authorization(): Record<string, string> {
    return { authorization: `Bearer ${this.#token}` };
  }

  send(method: string, path: string, body?: unknown, more: Sending = {}): Promise<Answer> {
    const headers = {
      ...this.authorization,
      ...(body !== undefined && { "content-type": "application/json" }),
      ...more.headers,
    };
    const text = body === undefined ? undefined : JSON.stringify(body);
    const length = text === undefined ? {} : { "content-length": String(Buffer.byteLength(text)) };
    return send(this.#server, {
      ...more,
      method,
      path,
      headers: { ...length, ...headers },
      ...(text !== undefined && { body: text }),
    });
  }

  async json<Body>(method: string, path: string, body?: unknown): Promise<Body> {
    const answer = await this.send(method, path, body);
    if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.status} ${answer.text}`);
    return JSON.parse(answer.text) as Body;
  }

  async open(options: object = {}): Promise<string> {
    return (await this.json<{ id: string }>("POST", "/v1/sessions", options)).id;
  }

  /** Adds a message, and returns the ids of its turn and of itself. */
  dispatch(
    session: string,
    calls: readonly object[],
    more: object = {},
  ): Promise<{ turnId: string; messageId: string }> {
    return this.json("POST", `/v1/sessions/${session}/turns`, { calls, ...more });
  }

  /** Waits until all calls of a turn have ended, and returns their executions. */
  async executions(session: string, turnId: string): Promise<readonly Execution[]> {
    for (;;) {
      const answer = await this.send("GET", `/v1/sessions/${session}/turns/${turnId}`);
      if (answer.status === 200) {
        const { messages } = JSON.parse(answer.text) as { messages: { executions: Execution[] }[] };
        return messages.flatMap(({ executions }) => executions);
      }
      if (answer.status !== 202) throw new Error(`${answer.status} ${answer.text}`);
      await new Promise((resolve) => setTimeout(resolve, 2));
    }
  }

  /** Waits until so many confirmations are open, and returns them. */
  async confirmations(count = 1): Promise<readonly ListedConfirmation[]> {
    for (;;) {
      const { confirmations } = await this.json<{ confirmations: ListedConfirmation[] }>(
        "GET",
        "/v1/confirmations",
      );
      if (confirmations.length >= count) return confirmations;
      await new Promise((resolve) => setTimeout(resolve, 2));
    }
  }

  answer(confirmation: ListedConfirmation, answer: object): Promise<Answer> {
    return this.send("POST", pathOf(confirmation), { digest: confirmation.digest, ...answer });
  }

  /** Reads the events of a path as they arrive. */
  events(
    path: string,
    more: { readonly headers?: Record<string, string>; readonly body?: unknown } = {},
  ): EventReader {
    return new EventReader(this.#server.address, path, {
      headers: { ...this.authorization, accept: "text/event-stream", ...more.headers },
      ...(more.body !== undefined && { body: JSON.stringify(more.body) }),
    });
  }
}

export function pathOf({ sessionId, turnId, requestId }: ListedConfirmation): string {
  return `/v1/sessions/${sessionId}/turns/${turnId}/confirmations/${requestId}`;
}

export interface Execution {
  readonly callId: string;
  readonly success: boolean;
  readonly output: unknown;
  readonly error?: { readonly code: string; readonly message: string; readonly effect: string };
  readonly confirmation?: { readonly by: string; readonly digest: string; readonly editedDigest?: string };
}

/** Returns the status of a response and the code of its problem. */
export function refusalOf({ status, text }: Answer): string {
  return `${status} ${(JSON.parse(text) as { error: { code: string } }).error.code}`;
}

/** An event as a client receives it. */
export interface ReceivedEvent {
  readonly type: string;
  readonly [member: string]: unknown;
}

/** Reads a stream of events of a server. */
export class EventReader {
  readonly received: ReceivedEvent[] = [];
  /** The ids of events, in order. */
  readonly ids: string[] = [];
  readonly opened: Promise<number>;
  readonly ended: Promise<void>;
  readonly #close: () => void;
  readonly #waiting = new Set<() => void>();

  constructor(
    address: string,
    path: string,
    { headers, body }: { readonly headers: Record<string, string>; readonly body?: string },
  ) {
    const opened = Promise.withResolvers<number>();
    const ended = Promise.withResolvers<void>();
    this.opened = opened.promise;
    this.ended = ended.promise;
    const { hostname, port } = new URL(`http://${address}`);
    const sent = request({
      host: hostname,
      port,
      path,
      agent: false,
      method: body === undefined ? "GET" : "POST",
      headers: {
        ...headers,
        ...(body !== undefined && {
          "content-type": "application/json",
          "content-length": Buffer.byteLength(body),
        }),
      },
    });
    sent.end(body);
    sent.on("error", () => ended.resolve());
    sent.on("response", (response) => {
      opened.resolve(response.statusCode ?? 0);
      const reader = new StreamReader(10_000_000);
      response.setEncoding("utf8");
      response.on("data", (text: string) => {
        for (const [, id = ""] of text.matchAll(/^id: (.*)$/gm)) this.ids.push(id);
        for (const { event, data } of reader.push(text)) {
          const received = JSON.parse(data) as ReceivedEvent & JsonObject;
          this.received.push(received);
          if (event !== received.type) problems.push(`${event} is named ${received.type}`);
          const problem = problemIn(path.startsWith("/v1/calls/") ? CallFeedEvent : SessionEvent, received);
          if (problem !== undefined) problems.push(`${data}: ${problem}`);
        }
        for (const wake of this.#waiting) wake();
      });
      response.on("close", () => ended.resolve());
      response.on("error", () => ended.resolve());
    });
    this.#close = () => sent.destroy();
    const problems: string[] = [];
    onTestFinished(() => {
      this.close();
      expect(problems, "events that do not have the shape of docs/openapi.yaml").toEqual([]);
    });
  }

  close(): void {
    this.#close();
  }

  /** Waits for an event of a type. */
  async next(type: string): Promise<ReceivedEvent> {
    for (;;) {
      const found = this.received.find((event) => event.type === type);
      if (found !== undefined) return found;
      await new Promise<void>((resolve) => {
        const wake = (): void => {
          this.#waiting.delete(wake);
          resolve();
        };
        this.#waiting.add(wake);
      });
    }
  }
}
