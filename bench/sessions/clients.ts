import { strictEqual } from "node:assert";
import { once } from "node:events";
import { createServer, type Socket } from "node:net";
import { Worker } from "node:worker_threads";
import { defineTool, HostPolicy, openSandboxes, ToolRegistry } from "sandgate";
import { startServer } from "sandgate/server";
import type { OpenCase, Question } from "../harness/case.ts";
import { footprint } from "../soak/footprint.ts";
import type { EventClients, FromClients } from "./event-clients.ts";

const CLIENTS = 1_000;
/** The events that a call has besides its outputs: decided, started, completed, and the end of its message. */
const MORE_EVENTS = 4;
const OUTPUTS = 6;
const EVENTS = OUTPUTS + MORE_EVENTS;
const CHUNK = "x".repeat(200);
const TOKEN = "the-token-of-a-bench-client";
const MARK = "event: turn.ended\n";
const FLOOR = `${EVENTS} events written to ${CLIENTS} sockets`;

/** What the events of one call take that clients of its session follow over HTTP. Times are per event and client. */
export const clients: Question = {
  name: "sessions-clients",
  cases: [
    { name: FLOOR, calls: EVENTS * CLIENTS, open: openSockets },
    {
      name: `${EVENTS} events, ${CLIENTS} clients`,
      calls: EVENTS * CLIENTS,
      open: () => openClients(CLIENTS, 0),
    },
    {
      name: `${EVENTS} events, ${CLIENTS} clients, beside ${CLIENTS} that do not read`,
      calls: EVENTS * CLIENTS,
      open: () => openClients(CLIENTS, CLIENTS),
    },
  ],
};

async function openClients(reading: number, silent: number): Promise<OpenCase> {
  const tool = defineTool({
    name: "print",
    description: "",
    inputSchema: {},
    sideEffects: "read" as const,
    host: (_input, { onOutput }) => {
      for (let output = 0; output < OUTPUTS; output++) onOutput(CHUNK);
      return null;
    },
  });
  const sandboxes = await openSandboxes();
  const server = await startServer({
    registry: new ToolRegistry().register(tool),
    policy: new HostPolicy(),
    sandboxes,
    listen: "127.0.0.1:0",
    limits: { drainMs: 1 },
    sessions: {},
    credentials: [{ id: "agent", token: TOKEN, roles: ["caller"] }],
  });
  const post = async (path: string, body: object, accept = "application/json"): Promise<Response> =>
    fetch(`http://${server.address}${path}`, {
      method: "POST",
      headers: { accept, authorization: `Bearer ${TOKEN}`, "content-type": "application/json" },
      body: JSON.stringify(body),
    });
  const { id } = (await (await post("/v1/sessions", {})).json()) as { readonly id: string };
  const path = `/v1/sessions/${id}/events`;
  const request = `GET ${path} HTTP/1.1\r\nhost: ${server.address}\r\nauthorization: Bearer ${TOKEN}\r\n\r\n`;
  const message = { calls: [{ id: "call", name: "print", arguments: {} }] };
  const dispatch = (accept?: string): Promise<Response> => post(`/v1/sessions/${id}/turns`, message, accept);
  // The code of the first call is not counted.
  await (await dispatch("text/event-stream")).text();
  const before = footprint();
  const readers = await ClientThread.open(server.address, request, reading, true);
  const others = silent === 0 ? undefined : await ClientThread.open(server.address, request, silent, false);
  const kib = ((footprint().heapMiB - before.heapMiB) * 1_024) / (reading + silent);
  return {
    run: async () => {
      const delivered = readers.nextEnd();
      strictEqual((await dispatch()).status, 202);
      return delivered;
    },
    check: (count) => strictEqual(typeof count, "number"),
    observed: () => ({
      "KiB of heap per client": kib,
      ...(others && { "MiB of heap": footprint().heapMiB }),
    }),
    close: async () => {
      await Promise.all([readers.close(), others?.close()]);
      await server.close();
      await sandboxes.close();
    },
  };
}

/** The least that it takes: the same bytes, written to bare sockets. */
async function openSockets(): Promise<OpenCase> {
  const sockets: Socket[] = [];
  const all = Promise.withResolvers<void>();
  const server = createServer((socket) => {
    socket.once("data", () => {
      socket.write(" ");
      if (sockets.push(socket) === CLIENTS) all.resolve();
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as { readonly port: number };
  const readers = await ClientThread.open(`127.0.0.1:${port}`, "GET", CLIENTS, true);
  await all.promise;
  const event = Buffer.from(`id: 0123456789ab-1\nevent: tool.output\ndata: {"chunk":"${CHUNK}"}\n\n`);
  const last = Buffer.concat([Buffer.from(MARK), event]);
  return {
    run: () => {
      const delivered = readers.nextEnd();
      for (let sent = 1; sent <= EVENTS; sent++) {
        for (const socket of sockets) socket.write(sent === EVENTS ? last : event);
      }
      return delivered;
    },
    check: (count) => strictEqual(typeof count, "number"),
    close: async () => {
      await readers.close();
      server.close();
    },
  };
}

/** A thread with the clients, so that the thread of the server does its own work only. */
class ClientThread {
  readonly #worker: Worker;
  #ends = 0;
  #wanted = 0;
  #onEnd: ((ends: number) => void) | undefined;

  private constructor(worker: Worker) {
    this.#worker = worker;
    worker.on("message", (message: FromClients) => {
      if (!("ends" in message)) return;
      this.#ends = message.ends;
      if (this.#ends >= this.#wanted) this.#onEnd?.(this.#ends);
    });
  }

  static async open(address: string, request: string, count: number, reads: boolean): Promise<ClientThread> {
    const { hostname: host, port } = new URL(`http://${address}`);
    const data: EventClients = { host, port: Number(port), request, count, reads, mark: MARK };
    const worker = new Worker(new URL("./event-clients.ts", import.meta.url), { workerData: data });
    const clients = new ClientThread(worker);
    for (;;) {
      const [message] = (await once(worker, "message")) as [FromClients];
      if ("opened" in message) return clients;
    }
  }

  /** Resolves when every client has had the end of one more message. */
  nextEnd(): Promise<number> {
    this.#wanted = this.#ends + 1;
    return new Promise((resolve) => {
      this.#onEnd = resolve;
    });
  }

  async close(): Promise<void> {
    await this.#worker.terminate();
  }
}
