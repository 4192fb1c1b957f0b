/** Where an executor listens. */
export type ListenAddress =
  | { readonly kind: "tcp"; readonly host: string; readonly port: number }
  /** A unix socket that only this user may connect to. */
  | { readonly kind: "unix"; readonly path: string }
  /** A socket that listens already, which the parent process handed down. */
  | { readonly kind: "fd"; readonly fd: number };

/** What an address looks like, for messages. */
export const LISTEN_FORM = "HOST:PORT, such as 127.0.0.1:7420, unix:PATH or fd:NUMBER";

/** The longest path of a unix socket, in bytes (Linux: 108 with the final NUL). */
const MAX_SOCKET_PATH_BYTES = 103;

/** Reads an address as {@link LISTEN_FORM} has it; `undefined` for everything else. */
export function parseListenAddress(text: string): ListenAddress | undefined {
  const [, path] = /^unix:(.+)$/s.exec(text) ?? [];
  if (path !== undefined) {
    const isFit = Buffer.byteLength(path) <= MAX_SOCKET_PATH_BYTES && !path.includes("\0");
    return isFit ? { kind: "unix", path } : undefined;
  }
  const [, fd] = /^fd:([0-9]{1,4})$/.exec(text) ?? [];
  if (fd !== undefined) return { kind: "fd", fd: Number(fd) };
  const [, host, port = ""] = /^(\[[0-9a-fA-F:.]+\]|[A-Za-z0-9.-]+):([0-9]{1,5})$/.exec(text) ?? [];
  if (host === undefined || Number(port) > 65_535) return undefined;
  return { kind: "tcp", host: host.replace(/^\[|\]$/g, "").toLowerCase(), port: Number(port) };
}

/** Host and port as URLs have them. */
export function writeAuthority(host: string, port: number): string {
  return host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`;
}

/**
 * Whether only this machine reaches it: the loopback interface (RFC 1122, RFC 4291), or a socket of this machine.
 * What a descriptor is shows when it is used.
 */
export function isLocal(address: ListenAddress): boolean {
  if (address.kind !== "tcp") return true;
  const { host } = address;
  return host === "localhost" || host === "::1" || /^127(?:\.[0-9]{1,3}){3}$/.test(host);
}
