import { hash } from "node:crypto";

const SHA_256 = /^sha-256=:([A-Za-z0-9+/]{43}=):$/;

/** Returns the `content-digest` of a body (RFC 9530), with SHA-256. */
export function contentDigest(body: string | Uint8Array): string {
  return `sha-256=:${hash("sha256", body, "base64")}:`;
}

/**
 * Whether a `content-digest` matches a body. Unsupported algorithms and lists of digests count as a mismatch.
 */
export function matchesContentDigest(header: string, body: Uint8Array): boolean {
  return SHA_256.test(header) && header === contentDigest(body);
}
