import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { guardFiles } from "../../base/guarded-files.ts";
import { HostCheck, loopbackNames } from "./host-check.ts";
import { listen } from "./listen.ts";
import { isLocal, LISTEN_FORM, ListenError, parseListenAddress, writeAuthority } from "./listen-address.ts";

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
