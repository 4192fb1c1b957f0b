import { connect, type Socket } from "node:net";
import { parentPort, workerData } from "node:worker_threads";

/** What a thread of clients is told to do. */
export interface EventClients {
  readonly host: string;
  readonly port: number;
  /** The bytes of each client's request. */
  readonly request: string;
  readonly count: number;
  /** Whether they read more than the beginning of the response. */
  readonly reads: boolean;
  /** What the last event of each batch has. */
  readonly mark: string;
}

/** What the thread says: that all streams are open, or that each has had this event so many times. */
export type FromClients = { readonly opened: number } | { readonly ends: number };

const { host, port, request, count, reads, mark } = workerData as EventClients;
const sockets: Socket[] = [];
let opened = 0;
let ends = 0;
let told = 0;

for (let client = 0; client < count; client++) {
  const socket = connect(port, host);
  sockets.push(socket);
  socket.write(request);
  let hasOpened = false;
  let rest = "";
  socket.on("error", () => {});
  socket.on("data", (chunk: Buffer) => {
    if (!hasOpened) {
      hasOpened = true;
      if (!reads) socket.pause();
      if (++opened === count) parentPort?.postMessage({ opened } satisfies FromClients);
    }
    const text = rest + chunk.toString("latin1");
    let from = 0;
    for (let at = text.indexOf(mark); at !== -1; at = text.indexOf(mark, from)) {
      from = at + mark.length;
      ends++;
    }
    rest = text.slice(Math.max(from, text.length - mark.length + 1));
    while (ends >= told + count) {
      told += count;
      parentPort?.postMessage({ ends: told / count } satisfies FromClients);
    }
  });
}
