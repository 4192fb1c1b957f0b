import { once } from "node:events";
import { createServer, request } from "node:http";
import { pipeline } from "node:stream";

/** The caller of {@link asCaller}. */
export const CALLER = { id: "suite", token: "the-token-of-the-suite", roles: ["caller"] } as const;

/**
 * Passes the requests of clients that have no credential on to a server, as those of {@link CALLER}.
 *
 * @param port On which it listens.
 * @param address The server's.
 */
export async function asCaller(port: number, address: string): Promise<AsyncDisposable> {
  const { hostname, port: to } = new URL(`http://${address}`);
  const front = createServer((incoming, outgoing) => {
    const { method, url: path, headers } = incoming;
    const authorization = `Bearer ${CALLER.token}`;
    const passed = request({
      hostname,
      port: to,
      method,
      path,
      headers: { ...headers, authorization },
      agent: false,
    });
    passed.on("response", (response) => {
      outgoing.writeHead(response.statusCode ?? 502, response.headers);
      outgoing.flushHeaders();
      pipeline(response, outgoing, () => passed.destroy());
    });
    passed.on("error", () => outgoing.destroy());
    outgoing.on("close", () => passed.destroy());
    incoming.pipe(passed);
  });
  front.listen(port, "127.0.0.1");
  await once(front, "listening");
  return {
    [Symbol.asyncDispose]: async () => {
      const closed = once(front, "close");
      front.close();
      front.closeAllConnections();
      await closed;
    },
  };
}
