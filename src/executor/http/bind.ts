import { once } from "node:events";
import { lstatSync, unlinkSync } from "node:fs";
import type { Server } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { guardFiles } from "../../base/guarded-files.ts";
import { HostCheck, loopbackNames } from "./host-check.ts";
import {
  isLocal,
  LISTEN_FORM,
  type ListenAddress,
  ListenError,
  parseListenAddress,
  writeAuthority,
} from "./listen-address.ts";

/** How a server is bound to an address. */
export interface Binding {
  /** Further names under which clients can address the server. */
  readonly hosts: readonly string[];
  /** How many connections can wait to be accepted. */
  readonly backlog: number;
  /** Whether the server asks clients for certificates. */
  readonly asksClients: boolean;
  /** @throws {ListenError} if the server is not protected enough for clients from other machines. */
  readonly refuseUnprotected: () => void;
}

/** Where a server is bound. */
export interface BoundServer {
  /** `127.0.0.1:7420`, `unix:/run/sandgate.sock` or `fd:3`. */
  readonly address: string;
  /** Whether only this machine can reach it. */
  readonly isLocal: boolean;
  readonly isUnixSocket: boolean;
  readonly hostCheck: HostCheck;
}

/**
 * Makes a server listen, and says under which names clients reach it.
 *
 * @throws {ListenError} if it cannot listen, or must not.
 */
export async function bind(
  server: Server,
  where: string,
  { hosts, backlog, asksClients, refuseUnprotected }: Binding,
): Promise<BoundServer> {
  const address = parseListenAddress(where);
  if (address === undefined) throw new ListenError(`listen must be ${LISTEN_FORM}`);
  if (!isLocal(address)) refuseUnprotected();
  await listen(server, address, backlog);
  // A string is the path of a unix socket, which a descriptor can also refer to.
  const bound = server.address() as AddressInfo | string | null;
  if (typeof bound !== "object" || bound === null) {
    if (asksClients) {
      server.close();
      throw new ListenError(
        "tls.clientCa cannot be used on a unix socket, which only this user can connect to",
      );
    }
    // Every program that connects to it may call: one whose directory has it would choose its own calls.
    if (typeof bound === "string") guardFiles([{ path: bound }]);
    return { address: where, isLocal: true, isUnixSocket: true, hostCheck: new HostCheck(undefined) };
  }
  const { address: host, port } = bound;
  const isOnlyLocal = isLocal({ kind: "tcp", host, port });
  if (!isOnlyLocal) {
    try {
      refuseUnprotected();
    } catch (error) {
      server.close();
      throw error;
    }
  }
  const authority = writeAuthority(host, port);
  const own = address.kind === "tcp" ? [writeAuthority(address.host, port)] : [];
  const names = [...hosts, ...own, authority, ...loopbackNames(port)];
  const hostCheck = new HostCheck(names.map((name) => name.toLowerCase()));
  return { address: authority, isLocal: isOnlyLocal, isUnixSocket: false, hostCheck };
}

/**
 * Makes a server listen on an address. A unix socket is created with mode 0600, and replaces a stale socket.
 *
 * @param backlog How many connections can wait to be accepted.
 * @throws {ListenError} if the server cannot listen.
 */
async function listen(server: Server, address: ListenAddress, backlog: number): Promise<void> {
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
