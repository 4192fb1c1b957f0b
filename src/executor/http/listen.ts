import { once } from "node:events";
import { lstatSync, unlinkSync } from "node:fs";
import type { Server } from "node:http";
import { connect } from "node:net";
import { type ListenAddress, ListenError } from "./listen-address.ts";

/**
 * Makes a server listen on an address. A unix socket is created with mode 0600, and replaces a stale socket.
 *
 * @param backlog How many connections can wait to be accepted.
 * @throws {ListenError} if the server cannot listen.
 */
export async function listen(server: Server, address: ListenAddress, backlog: number): Promise<void> {
  try {
    if (address.kind === "unix") {
      await removeStaleSocket(address.path);
      await listenPrivately(server, address.path, backlog);
      return;
    }
    const target = address.kind === "fd" ? { fd: address.fd } : { host: address.host, port: address.port };
    const listening = once(server, "listening");
    server.listen({ ...target, exclusive: true, backlog });
    await listening;
  } catch (error) {
    if (error instanceof ListenError) throw error;
    const { code, message } = error as NodeJS.ErrnoException;
    throw new ListenError(code === "EADDRINUSE" ? "the address is in use" : message, { cause: error });
  }
}

/** Creates the socket with its final mode. If the mode was set afterwards, others could connect before. */
async function listenPrivately(server: Server, path: string, backlog: number): Promise<void> {
  const listening = once(server, "listening");
  const before = process.umask(0o177);
  try {
    // The socket is created before this returns.
    server.listen({ path, backlog });
  } finally {
    process.umask(before);
  }
  await listening;
}

async function removeStaleSocket(path: string): Promise<void> {
  const stats = lstatSync(path, { throwIfNoEntry: false });
  if (stats === undefined) return;
  if (!stats.isSocket()) throw new ListenError("the path exists and is not a socket");
  const socket = connect(path);
  try {
    await once(socket, "connect");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ECONNREFUSED") throw error;
    unlinkSync(path);
    return;
  } finally {
    socket.destroy();
  }
  throw new ListenError("the address is in use");
}
