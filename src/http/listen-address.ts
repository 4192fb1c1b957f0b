import { isLoopbackHost } from "../base/http-syntax.ts";
import { SandgateError } from "../base/thrown.ts";

const BASE_PATH = /^(?:\/[A-Za-z0-9_~-][A-Za-z0-9._~-]*)+$/;

/** The syntax of a base path, for messages. */
export const BASE_PATH_FORM = "a path such as /tools, without a slash at the end";

/** An address to listen on. */
export type ListenAddress =
  | { readonly kind: "tcp"; readonly host: string; readonly port: number }
  /** A unix socket that only this user can connect to. */
  | { readonly kind: "unix"; readonly path: string }
  /** A listening socket, inherited from the parent process. */
  | { readonly kind: "fd"; readonly fd: number };

/** The syntax of an address, for messages. */
export const LISTEN_FORM = "HOST:PORT, such as 127.0.0.1:7420, unix:PATH or fd:NUMBER";

/** Maximum length of a unix socket's path in bytes (on Linux: 108 with the final NUL). */
const MAX_SOCKET_PATH_BYTES = 103;

/** Parses an address in the form {@link LISTEN_FORM}; returns `undefined` if it is not valid. */
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

/** Formats a host and a port as in URLs. */
export function writeAuthority(host: string, port: number): string {
  return host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`;
}

/**
 * Whether only this machine can reach an address: on the loopback interface or a unix socket. Descriptors count as local, since their address is known only when they are used.
 */
export function isLocal(address: ListenAddress): boolean {
  return address.kind !== "tcp" || isLoopbackHost(address.host);
}

/** Thrown if an executor cannot or must not listen on an address. `message` says why. */
export class ListenError extends SandgateError {
  override readonly name = "ListenError";
  override readonly code = "listen_failed";
}

/**
 * Refuses a server that other machines can reach, unless it requires credentials and is encrypted.
 *
 * @throws {ListenError} otherwise.
 */
export function refuseUnprotected(server: {
  readonly hasCredentials: boolean;
  readonly isEncrypted: boolean;
}): void {
  if (!server.hasCredentials) {
    throw new ListenError(
      "without signature keys, a token or certificates of clients, an executor can listen on loopback or a unix socket only",
    );
  }
  if (!server.isEncrypted) {
    throw new ListenError(
      "without TLS, an executor can listen on loopback or a unix socket only, unless 'plainHttp' says that a proxy or the network encrypts",
    );
  }
}

/** Whether a text can be a base path. */
export function isBasePath(text: string): boolean {
  return text.length <= 256 && BASE_PATH.test(text);
}
