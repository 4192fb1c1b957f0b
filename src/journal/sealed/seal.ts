import { loadCrypto } from "../../base/load-crypto.ts";

const IV_BYTES = 12;
const TAG_BYTES = 16;

/**
 * Encrypts arguments by AES-256-GCM.
 *
 * @param argumentDigest The digest of the text, to which the result is bound.
 * @returns The nonce, the encrypted text and the tag, in base64.
 */
export function seal(text: string, argumentDigest: string, key: Buffer): string {
  const { createCipheriv, randomBytes } = loadCrypto();
  const iv = randomBytes(IV_BYTES);
  const cipher = createCipheriv("aes-256-gcm", key, iv);
  cipher.setAAD(Buffer.from(argumentDigest, "hex"));
  return Buffer.concat([iv, cipher.update(text, "utf8"), cipher.final(), cipher.getAuthTag()]).toString(
    "base64",
  );
}

/** Decrypts what {@link seal} returned. Returns `undefined` if the key or the digest is another one. */
export function unseal(sealed: string, argumentDigest: string, key: Buffer): string | undefined {
  const bytes = Buffer.from(sealed, "base64");
  if (bytes.length < IV_BYTES + TAG_BYTES) return undefined;
  const { createDecipheriv } = loadCrypto();
  const decipher = createDecipheriv("aes-256-gcm", key, bytes.subarray(0, IV_BYTES));
  decipher.setAAD(Buffer.from(argumentDigest, "hex"));
  decipher.setAuthTag(bytes.subarray(-TAG_BYTES));
  try {
    const text = decipher.update(bytes.subarray(IV_BYTES, -TAG_BYTES));
    return Buffer.concat([text, decipher.final()]).toString();
  } catch {
    return undefined;
  }
}
