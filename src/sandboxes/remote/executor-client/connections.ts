import { lookup } from "node:dns";
import type { LookupFunction } from "node:net";
import type { Pool } from "undici";
import { openPool } from "../../../egress/connections.ts";
import { EgressError } from "../../../egress/egress-error.ts";
import type { ExecutorAddress } from "../../../tool/implementations/remote-implementation.ts";
import type { ClientTls } from "./credentials.ts";

/** Milliseconds for opening a connection. */
const CONNECT_TIMEOUT_MS = 5_000;

/** The maximum size of a response's headers, in bytes. */
const HEADER_BYTES = 32_768;

/**
 * Opens a pool of persistent connections to an executor. The embedder chose the address, so it is not
 * restricted to public ones.
 *
 * @param allowH2 Whether HTTP/2 may be spoken over TLS. It has no upgrades. Default: `true`.
 */
export function openConnections(
  { origin, socketPath }: ExecutorAddress,
  { ca, clientCertificate }: ClientTls,
  allowH2 = true,
): Pool {
  const bounds = { connectTimeoutMs: CONNECT_TIMEOUT_MS, headerBytes: HEADER_BYTES };
  const options = { ...bounds, ca, clientCertificate, socketPath, allowH2 };
  return openPool(origin, socketPath === undefined ? withLookupError(lookup) : undefined, options);
}

/** Makes a lookup fail with an {@link EgressError}, which distinguishes it from a failed connection. */
function withLookupError(find: LookupFunction): LookupFunction {
  return (hostname, options, callback) => {
    find(hostname, options, (error, address, family) => {
      if (error === null) callback(null, address, family);
      else callback(new EgressError("name_not_resolved", error.message, undefined, error), address, family);
    });
  };
}
