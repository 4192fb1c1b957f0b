import { fork } from "node:child_process";
import { once } from "node:events";
import {
  allow,
  defineTool,
  openSandboxes,
  ToolDispatchEngine,
  type ToolImplementations,
  ToolRegistry,
} from "sandgate";
import { Pool } from "undici";
import type { Case, Question } from "./measure.ts";
import { INPUT, INPUT_SCHEMA, INPUT_TEXT, isInput } from "./setting.ts";

const IN_FLIGHT = 64;
const CALLS_EACH = 32;
const MANY = 2_000;
const HEADERS = { "content-type": "application/json", accept: "application/json" };

/** What does a call of an HTTP tool cost, beside undici sending the same bytes? The server is another process. */
export async function remote(): Promise<Question> {
  const peer = await openPeer();
  const { bare, tool } = casesAt(peer, "/arguments");
  return { name: "remote", floor: bare, cases: [tool], close: peer.close };
}

/** The same for an endpoint of the embedder's, which is sent the whole call. */
export async function remoteEndpoint(): Promise<Question> {
  const peer = await openPeer();
  const body = { id: "call", name: "echo", session: "bench", arguments: INPUT };
  return {
    name: "remote-endpoint",
    floor: bareCase(peer.pool, "/", body),
    cases: [
      dispatchCase("dispatch to the embedder's endpoint", peer, { remote: { url: `${peer.origin}/` } }),
    ],
    close: peer.close,
  };
}

/** The same with many calls under way all the time: the ratio is that of the calls each second, turned over. */
export async function remoteLoad(): Promise<Question> {
  const peer = await openPeer();
  const { bare, tool } = casesAt(peer, "/arguments");
  return {
    name: "remote-load",
    floor: sustained(bare),
    cases: [sustained(tool)],
    close: peer.close,
  };
}

/** Thousands of calls that each take their server 100 ms; prints how much memory one of them holds meanwhile. */
export async function remoteMany(): Promise<Question> {
  const peer = await openPeer();
  const { bare, tool } = casesAt(peer, "/slow");
  const watched = [bare, tool].map((each) => watchMemory(inFlight(MANY, each)));
  const [floor, ours] = watched as [WatchedCase, WatchedCase];
  return {
    name: "remote-many",
    floor,
    cases: [ours],
    close: async () => {
      for (const { name, bytes } of watched) {
        console.log(`${name}: ${(bytes() / MANY / 1_024).toFixed(1)} KiB of memory for each call`);
      }
      await peer.close();
    },
  };
}

interface Peer {
  readonly origin: string;
  readonly pool: Pool;
  dispatcher(implementations: ToolImplementations): () => Promise<unknown>;
  close(): Promise<void>;
}

async function openPeer(): Promise<Peer> {
  const server = fork(new URL("fixtures/echo-server.mjs", import.meta.url));
  const [port] = (await once(server, "message")) as [number];
  const origin = `http://127.0.0.1:${port}`;
  const pool = new Pool(origin);
  const sandboxes = await openSandboxes();
  const engine = new ToolDispatchEngine();
  const call = { id: "call", name: "echo", arguments: INPUT_TEXT };
  const capabilities = { net: [{ origin, addresses: ["127.0.0.1/32"] }] };
  return {
    origin,
    pool,
    dispatcher: (implementations) => {
      const tool = defineTool({
        name: "echo",
        description: "",
        inputSchema: INPUT_SCHEMA,
        ...implementations,
      });
      const decision = allow({ sandbox: "remote", capabilities });
      const registry = new ToolRegistry().register(tool);
      const ctx = { registry, policy: { check: () => decision }, sandboxes, sessionId: "bench" };
      return () => engine.dispatch(call, ctx);
    },
    close: async () => {
      await Promise.all([sandboxes.close(), pool.close()]);
      server.kill();
    },
  };
}

/** One request by the bare library, and one call of an HTTP tool that sends the same. */
function casesAt(peer: Peer, path: string): { readonly bare: Case; readonly tool: Case } {
  const http = { method: "POST", url: `${peer.origin}${path}` };
  return {
    bare: bareCase(peer.pool, path, INPUT),
    tool: dispatchCase("dispatch of an HTTP tool", peer, { remote: { http } }),
  };
}

function bareCase(pool: Pool, path: string, body: unknown): Case {
  return {
    name: "undici Pool.request + JSON both ways",
    run: async () => {
      const sent = { path, method: "POST", headers: HEADERS, body: JSON.stringify(body) } as const;
      const answer = await pool.request(sent);
      return answer.body.json();
    },
    check: isInput,
  };
}

function dispatchCase(name: string, peer: Peer, implementations: ToolImplementations): Case {
  return {
    name,
    run: peer.dispatcher(implementations),
    check: (execution) => isInput((execution as { output?: unknown } | null)?.output),
  };
}

/** As long as there are calls left, a new one begins when one ends. */
function sustained({ name, run, check }: Case): Case {
  const lane = async (): Promise<unknown> => {
    let answer: unknown;
    for (let i = 0; i < CALLS_EACH; i++) answer = await run();
    return answer;
  };
  return inFlight(IN_FLIGHT, { name: `${CALLS_EACH} times ${name}`, run: lane, check });
}

function inFlight(count: number, { name, run, check }: Case): Case {
  return {
    name: `${count} at once: ${name}`,
    run: () => Promise.all(Array.from({ length: count }, run)),
    check: (answers) => (answers as unknown[]).forEach(check),
  };
}

interface WatchedCase extends Case {
  /** The most that the process grew while it ran. */
  bytes(): number;
}

function watchMemory({ name, run, check }: Case): WatchedCase {
  let most = 0;
  return {
    name,
    check,
    bytes: () => most,
    run: async () => {
      const before = process.memoryUsage.rss();
      const running = run();
      // Every call waits for its server now.
      const looking = setTimeout(() => {
        most = Math.max(most, process.memoryUsage.rss() - before);
      }, 80);
      const answers = await running;
      clearTimeout(looking);
      return answers;
    },
  };
}
