import type { Server } from "node:http";
import type { Socket } from "node:net";

/**
 * Limits the connections of a server that one address has open at a time: an IPv4 address, or a network of 64 bits of IPv6,
 * of which a client usually has all addresses. Connections over unix sockets have no address, and are not limited.
 *
 * The other listeners of the server's connections must have been added: they do not see a connection that is refused.
 *
 * @param max Further connections are closed at once.
 * @param onRefused Called for each of these.
 */
export function limitConnectionsPerAddress(server: Server, max: number, onRefused: () => void): void {
  const open = new Map<string, number>();
  const admit = (socket: Socket): boolean => {
    const { remoteAddress } = socket;
    if (remoteAddress === undefined) return true;
    const origin = originOf(remoteAddress);
    const count = open.get(origin) ?? 0;
    if (count >= max) return false;
    open.set(origin, count + 1);
    socket.once("close", () => {
      const left = (open.get(origin) ?? 1) - 1;
      if (left > 0) open.set(origin, left);
      else open.delete(origin);
    });
    return true;
  };
  // TLS would begin a handshake on a closed connection, and report that it failed.
  const listeners = server.listeners("connection");
  server.removeAllListeners("connection");
  server.on("connection", (socket: Socket) => {
    if (admit(socket)) {
      for (const listener of listeners) listener.call(server, socket);
      return;
    }
    onRefused();
    socket.destroy();
  });
}

/** Returns what counts as one address: `192.0.2.1`, or `2001:db8:0:1`, the first half of an IPv6 address. */
export function originOf(address: string): string {
  const mapped = /^::ffff:([0-9.]+)$/i.exec(address)?.[1];
  if (mapped !== undefined || !address.includes(":")) return mapped ?? address;
  const [head = "", tail] = (address.split("%", 1)[0] ?? "").split("::");
  const groups = head === "" ? [] : head.split(":");
  const rest = tail === undefined || tail === "" ? [] : tail.split(":");
  const zeros = tail === undefined ? 0 : Math.max(8 - groups.length - rest.length, 0);
  return [...groups, ...Array<string>(zeros).fill("0"), ...rest].slice(0, 4).join(":");
}
