import { lookup } from "node:dns";
import type { LookupFunction } from "node:net";
import type { Pool } from "undici";
import { openPool } from "../../../egress/connections/pool.ts";
import { EgressError } from "../../../egress/egress-error.ts";
import type { ExecutorAddress } from "../../../tool/executor-address.ts";

/** Milliseconds for opening a connection. */
const CONNECT_TIMEOUT_MS = 5_000;
/** The maximum size of a response's headers, in bytes. */
const HEADER_BYTES = 32_768;

/**
 * Opens a pool of connections to an executor, kept open between calls. The embedder chose the address, so it is not
 * restricted to public ones.
 *
 * @param ca The certificate authorities to trust instead of the default ones, in PEM.
 */
export function openConnections({ origin, socketPath }: ExecutorAddress, ca: string | undefined): Pool {
  const options = { connectTimeoutMs: CONNECT_TIMEOUT_MS, headerBytes: HEADER_BYTES, ca, socketPath };
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
