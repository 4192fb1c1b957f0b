import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from "node:crypto";
import { canonicalText } from "../../json/canonical.ts";
import type { JsonObject } from "../../json/value.ts";
import type { SuspensionKey } from "./keys.ts";
import { SuspensionRefusedError } from "./suspension-error.ts";

const SALT_BYTES = 16;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/**
 * Seals bytes with AES-256-GCM under a key of their own, which follows from a random salt: a nonce never meets the same key
 * again, however many programs are suspended.
 *
 * @param bound What the bytes are bound to: they open with the same value only.
 */
export function seal(bytes: Uint8Array, bound: JsonObject, { key }: SuspensionKey): Uint8Array {
  const salt = randomBytes(SALT_BYTES);
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv("aes-256-gcm", derive(key, salt), nonce);
  cipher.setAAD(Buffer.from(canonicalText(bound)));
  return Buffer.concat([salt, nonce, cipher.update(bytes), cipher.final(), cipher.getAuthTag()]);
}

/**
 * Opens bytes that {@link seal} sealed.
 *
 * @throws {SuspensionRefusedError} if they were changed, are bound to something else, or were sealed with another key.
 */
export function unseal(sealed: Uint8Array, bound: JsonObject, { key }: SuspensionKey): Uint8Array {
  const bytes = Buffer.from(sealed.buffer, sealed.byteOffset, sealed.length);
  const nonceAt = SALT_BYTES;
  const textAt = nonceAt + NONCE_BYTES;
  const tagAt = bytes.length - TAG_BYTES;
  if (tagAt < textAt) throw new SuspensionRefusedError("changed");
  const options = { authTagLength: TAG_BYTES };
  const salt = bytes.subarray(0, nonceAt);
  const decipher = createDecipheriv(
    "aes-256-gcm",
    derive(key, salt),
    bytes.subarray(nonceAt, textAt),
    options,
  );
  decipher.setAAD(Buffer.from(canonicalText(bound)));
  decipher.setAuthTag(bytes.subarray(tagAt));
  try {
    return Buffer.concat([decipher.update(bytes.subarray(textAt, tagAt)), decipher.final()]);
  } catch {
    throw new SuspensionRefusedError("changed");
  }
}

function derive(key: Uint8Array, salt: Uint8Array): Uint8Array {
  return new Uint8Array(hkdfSync("sha256", key, salt, "sandgate suspended program", 32));
}
