import { fork } from "node:child_process";
import { once } from "node:events";

/** A server in a separate process that responds with what it receives. */
export interface EchoServer {
  readonly origin: string;
  close(): void;
}

/** Starts it on a free port of the loopback interface. */
export async function startEchoServer(): Promise<EchoServer> {
  const server = fork(new URL("../fixtures/echo-server.mjs", import.meta.url));
  const [port] = (await once(server, "message")) as [number];
  return { origin: `http://127.0.0.1:${port}`, close: () => void server.kill() };
}
