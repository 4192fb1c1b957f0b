/** One server of the cluster: a process that serves sessions over HTTP, on Restate or on what it has itself. */
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { json } from "node:stream/consumers";
import type { ToolCall } from "../../../src/engine/call/call.ts";
import { ToolRegistry } from "../../../src/engine/registry.ts";
import { HostPolicy } from "../../../src/policy/host-policy.ts";
import { openRestate } from "../../../src/restate/sessions/open-restate.ts";
import { openSandboxes } from "../../../src/sandboxes/open-sandboxes.ts";
import type { Choice } from "../../../src/sessions/confirmations/inquiry.ts";
import type { SessionsOptions } from "../../../src/sessions/options.ts";
import type { Session } from "../../../src/sessions/session.ts";
import { SessionExistsError } from "../../../src/sessions/session-errors.ts";
import { openSessions, type Sessions } from "../../../src/sessions/sessions.ts";
import { SqliteSessionStore } from "../../../src/sessions/store/sqlite-store.ts";
import type { Turn } from "../../../src/sessions/turn.ts";
import { clusterTools } from "./tools.ts";

/** What a server is told, as JSON in its only argument. */
export interface ClusterServerOptions {
  readonly port: number;
  /** The file of effects. */
  readonly effects: string;
  /** The nodes of Restate, and the port that all servers share. */
  readonly restate?: {
    readonly ingress: readonly string[];
    readonly admin: readonly string[];
    readonly port: number;
    /** The URL under which Restate reaches all servers. Default: that of the port. */
    readonly advertise?: string;
  };
  /** Where the tools ask before and after each effect, which may kill the process. Default: they ask nothing. */
  readonly steps?: string;
  /** The file of the store of a server without Restate. Default: it keeps nothing. */
  readonly store?: string;
  /** How long a person is waited for, in ms. Default: as sessions have it. */
  readonly timeoutMs?: number;
  /** By how much the clock of the process is wrong, in ms. Default: it is right. */
  readonly clockMs?: number;
}

/** A message as clients send it. */
export interface PostedMessage {
  readonly sessionId: string;
  readonly principal: string;
  readonly messageId: string;
  readonly calls: readonly ToolCall[];
}

/** An answer as approvers send it. */
export interface PostedAnswer {
  readonly decision: Choice;
  readonly digest: string;
  readonly by: string;
}

/** How long ago a session may have been read, in ms, as in `sandgate serve`. */
const RECENT_MS = 500;

const options: ClusterServerOptions = JSON.parse(process.argv[2] as string);

async function open(given: ClusterServerOptions): Promise<Sessions> {
  const { effects, steps, restate, store, timeoutMs } = given;
  const registry = new ToolRegistry();
  for (const tool of clusterTools(effects, steps)) registry.register(tool);
  const kept: Partial<SessionsOptions> =
    restate === undefined
      ? { ...(store !== undefined && { store: new SqliteSessionStore(store) }) }
      : {
          durable: await openRestate({
            ...{ ingress: restate.ingress, admin: restate.admin },
            listen: { port: restate.port, reusePort: true },
            ...(restate.advertise !== undefined && { advertise: restate.advertise }),
          }),
        };
  return openSessions({
    ...{ registry, policy: new HostPolicy(), sandboxes: await openSandboxes() },
    ...(timeoutMs !== undefined && { confirmations: { timeoutMs } }),
    ...kept,
  });
}

async function sessionOf(sessions: Sessions, id: string, principal: string): Promise<Session> {
  const known = await sessions.find(id, { maxAgeMs: RECENT_MS });
  if (known !== undefined) return known;
  try {
    return await sessions.open({ id, principal: { id: principal, kind: "user" } });
  } catch (error) {
    if (!(error instanceof SessionExistsError)) throw error;
    return (await sessions.find(id)) as Session;
  }
}

/** Every message has a turn of its own, which is known here if it was posted here before. */
async function turnOf(session: Session, id: string): Promise<Turn> {
  try {
    return session.turn({ id });
  } catch (error) {
    const known = await session.findTurn(id);
    if (known === undefined) throw error;
    return known;
  }
}

async function handle(sessions: Sessions, request: IncomingMessage): Promise<unknown> {
  const url = request.url ?? "/";
  if (url === "/health") return {};
  if (url === "/memory") {
    globalThis.gc?.();
    return process.memoryUsage();
  }
  if (url === "/confirmations") return sessions.openInquiries();
  if (url === "/messages") {
    const { sessionId, principal, messageId, calls } = (await json(request)) as PostedMessage;
    const turn = await turnOf(await sessionOf(sessions, sessionId, principal), messageId);
    return turn.dispatchAll(calls, { messageId });
  }
  const answer = (await json(request)) as PostedAnswer;
  return sessions.answer(url.slice("/confirmations/".length), answer);
}

async function respond(
  sessions: Sessions,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  let body: unknown;
  try {
    body = await handle(sessions, request);
  } catch (error) {
    response.statusCode = 503;
    body = { message: error instanceof Error ? error.message : String(error) };
  }
  response.setHeader("content-type", "application/json");
  response.end(JSON.stringify(body));
}

const sessions = await open(options);
const server = createServer((request, response) => void respond(sessions, request, response));
server.listen(options.port, "127.0.0.1");
await once(server, "listening");
