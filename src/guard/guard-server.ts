import type { KeyObject } from "node:crypto";
import { chmodSync, rmSync } from "node:fs";
import { createServer, type Server, type Socket } from "node:net";
import { dirname } from "node:path";
import { parseAnswer } from "../json/parse-answer.ts";
import { isJsonObject, type JsonValue } from "../json/value.ts";
import { Decider, type DeciderParts } from "./decide.ts";
import { agentNamed } from "./install.ts";
import { authenticated, checkFolder, MAX_REQUEST_BYTES, readHeader, signAnswer } from "./wire.ts";

/** How many connections are open at once. */
const MAX_CONNECTIONS = 64;

/** Within this time, in ms, a request must have arrived and its answer been read. */
const CONNECTION_MS = 20_000;

/** Options of {@link startGuard}. */
export interface GuardOptions extends DeciderParts {
  /** An absolute path in a folder that is the user's alone. Nothing may listen there. */
  readonly socket: string;
  /** Signs the answers. */
  readonly key: KeyObject;
  /** Authenticates the answers to hooks that cannot check signatures. Absent: they get none. */
  readonly secret?: Buffer;
}

/**
 * Answers the hooks of agents, and nothing else: over this socket, nobody can answer a confirmation, change a policy or stop anything.
 *
 * @throws {Error} as a rejection, if it cannot listen, or the folder is not the user's alone.
 */
export async function startGuard(options: GuardOptions): Promise<AsyncDisposable> {
  const { socket } = options;
  checkFolder(dirname(socket));
  const decider = new Decider(options);
  const open = new Set<Socket>();
  const server = createServer((connection) => {
    if (open.size >= MAX_CONNECTIONS) return void connection.destroy();
    open.add(connection);
    const timer = setTimeout(() => connection.destroy(), CONNECTION_MS);
    connection.on("error", () => {});
    connection.on("close", () => {
      clearTimeout(timer);
      open.delete(connection);
    });
    void serve(connection, decider, options);
  });
  rmSync(socket, { force: true });
  await listen(server, socket);
  chmodSync(socket, 0o600);
  return {
    [Symbol.asyncDispose]: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const connection of open) connection.destroy();
      }),
  };
}

function listen(server: Server, socket: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(socket, resolve);
  });
}

async function serve(connection: Socket, decider: Decider, options: GuardOptions): Promise<void> {
  try {
    const request = await receive(connection);
    if (request === undefined) return void connection.destroy();
    const { line, input } = request;
    if (input === undefined) {
      const answer = JSON.stringify(await answerTo(line, decider, options));
      connection.end(`${JSON.stringify({ answer, signature: signAnswer(line, answer, options.key) })}\n`);
      return;
    }
    const { secret } = options;
    if (secret === undefined) return void connection.destroy();
    const text = new TextDecoder("utf-8", { fatal: true }).decode(input);
    const answer = JSON.stringify(await decideOn(readHeader(line)?.agent, text, decider));
    const whole = Buffer.concat([Buffer.from(`${line}\n`), input]);
    connection.end(authenticated(whole, answer, secret));
  } catch {
    connection.destroy();
  }
}

/** Reads a line, and what its header says that follows. Returns `undefined` if that is not all there, or too long. */
async function receive(connection: Socket): Promise<{ line: string; input: Buffer | undefined } | undefined> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  let line: string | undefined;
  let wanted = MAX_REQUEST_BYTES;
  for await (const chunk of connection.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    chunks.push(chunk);
    bytes += chunk.length;
    if (bytes > MAX_REQUEST_BYTES) return undefined;
    if (line === undefined && chunk.includes(10)) {
      const whole = Buffer.concat(chunks);
      const end = whole.indexOf(10);
      line = whole.toString("utf8", 0, end);
      const header = readHeader(line);
      if (header === undefined) return { line, input: undefined };
      chunks.splice(0, chunks.length, whole.subarray(end + 1));
      bytes -= end + 1;
      wanted = header.bytes;
    }
    if (line !== undefined && bytes >= wanted) break;
  }
  if (line === undefined || bytes !== wanted) return undefined;
  return { line, input: Buffer.concat(chunks) };
}

async function answerTo(line: string, decider: Decider, { handingOver }: GuardOptions): Promise<JsonValue> {
  const request = parseAnswer(line);
  if (!isJsonObject(request)) return null;
  const { agent: name, input, ticket, command } = request;
  if (typeof ticket === "string" && typeof command === "string")
    return (handingOver.redeem(ticket, command) ?? null) as JsonValue;
  return typeof input === "string" ? await decideOn(name, input, decider) : null;
}

async function decideOn(name: JsonValue | undefined, input: string, decider: Decider): Promise<JsonValue> {
  const agent = typeof name === "string" ? agentNamed(name) : undefined;
  if (agent === undefined) return null;
  const { decision, input: parsed } = await decider.decide(agent, input);
  return agent.write(decision, parsed);
}
