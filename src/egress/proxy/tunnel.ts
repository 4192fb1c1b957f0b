import { isIP, type Socket } from "node:net";
import { pipeline } from "node:stream/promises";
import { withoutBrackets } from "../connections/checked-lookup.ts";
import { EgressError } from "../egress-error.ts";
import { ClientHelloReader } from "./client-hello.ts";
import type { TrafficMeter } from "./traffic-meter.ts";

/**
 * Passes on the bytes between a client and a server, until both have ended or one has failed. Nothing is sent before the
 * client has begun TLS with the host of the origin.
 *
 * @throws {Error} an {@link EgressError} if the client does not begin so, or the budget is used up; else a socket's error.
 */
export async function tunnel(
  client: Socket,
  server: Socket,
  origin: URL,
  meter: TrafficMeter,
): Promise<void> {
  // Both ways listen to both sockets.
  for (const socket of [client, server]) socket.setMaxListeners(32);
  try {
    await checkBeginning(client, origin);
    await Promise.all([
      pipeline(client, meter.sending(), server),
      pipeline(server, meter.receiving(), client),
    ]);
  } finally {
    client.destroy();
    server.destroy();
  }
}

async function checkBeginning(client: Socket, { hostname, origin }: URL): Promise<void> {
  const hello = await readHello(client, origin);
  const host = withoutBrackets(hostname);
  const other = hello.find((name) => isIP(host) === 0 && nameOf(name) !== nameOf(host));
  if (other === undefined) return;
  throw new EgressError(
    "origin_denied",
    `a tunnel to '${origin}' was used for ${JSON.stringify(other.slice(0, 255))}`,
  );
}

/** Returns the names in the ClientHello, which stays in the stream. */
async function readHello(client: Socket, origin: string): Promise<readonly string[]> {
  const reader = new ClientHelloReader();
  const chunks: Buffer[] = [];
  for (;;) {
    const chunk: Buffer | null = client.read();
    if (chunk !== null) {
      chunks.push(chunk);
      const hello = reader.add(chunk);
      if (hello === "not TLS")
        throw new EgressError("request_invalid", `a tunnel to '${origin}' was used without TLS`);
      if (hello !== "incomplete") {
        client.unshift(Buffer.concat(chunks));
        return hello.serverNames;
      }
    } else if (!(await moreOf(client))) {
      throw new EgressError("aborted", "the client closed the tunnel");
    }
  }
}

/** Waits until a stream has more bytes. Returns `false` if it has ended. */
function moreOf(client: Socket): Promise<boolean> {
  if (client.destroyed || client.readableEnded) return Promise.resolve(false);
  return new Promise((resolve) => {
    const settle = (isMore: boolean): void => {
      client.off("readable", onReadable).off("end", onEnd).off("close", onEnd);
      resolve(isMore);
    };
    const onReadable = (): void => settle(true);
    const onEnd = (): void => settle(false);
    client.on("readable", onReadable).on("end", onEnd).on("close", onEnd);
  });
}

/** Names are compared without case and without the dot of the root. */
function nameOf(host: string): string {
  return host.toLowerCase().replace(/\.$/, "");
}
