import type { KeyObject } from "node:crypto";
import { chmodSync, rmSync } from "node:fs";
import { createServer, type Server, type Socket } from "node:net";
import { dirname } from "node:path";
import { parseAnswer } from "../json/parse-answer.ts";
import { isJsonObject, type JsonValue } from "../json/value.ts";
import { Decider, type DeciderParts } from "./decide.ts";
import { agentNamed } from "./install.ts";
import { checkFolder, MAX_REQUEST_BYTES, signAnswer } from "./wire.ts";

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
}

/**
 * Answers the hooks of agents, and nothing else: over this socket, nobody can answer a confirmation, change a policy or stop anything.
 *
 * @throws {Error} as a rejection, if it cannot listen, or the folder is not the user's alone.
 */
export async function startGuard(options: GuardOptions): Promise<AsyncDisposable> {
  const { socket, key } = options;
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
    void serve(connection, async (line) => {
      const answer = JSON.stringify(await answerTo(line, decider, options));
      return JSON.stringify({ answer, signature: signAnswer(line, answer, key) });
    });
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

async function serve(connection: Socket, respond: (line: string) => Promise<string>): Promise<void> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const chunk of connection.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
      chunks.push(chunk);
      bytes += chunk.length;
      if (bytes > MAX_REQUEST_BYTES) return void connection.destroy();
      if (chunk.includes(10)) break;
    }
    const text = Buffer.concat(chunks).toString();
    const end = text.indexOf("\n");
    if (end < 0) return void connection.destroy();
    connection.end(`${await respond(text.slice(0, end))}\n`);
  } catch {
    connection.destroy();
  }
}

async function answerTo(line: string, decider: Decider, { handingOver }: GuardOptions): Promise<JsonValue> {
  const request = parseAnswer(line);
  if (!isJsonObject(request)) return null;
  const { agent: name, input, ticket, command } = request;
  if (typeof ticket === "string" && typeof command === "string")
    return (handingOver.redeem(ticket, command) ?? null) as JsonValue;
  const agent = typeof name === "string" ? agentNamed(name) : undefined;
  if (agent === undefined || typeof input !== "string") return null;
  const { decision, input: parsed } = await decider.decide(agent, input);
  return agent.write(decision, parsed);
}
