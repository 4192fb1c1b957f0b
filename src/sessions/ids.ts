const ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
const TIME_CHARACTERS = 10;
const RANDOM_BYTES = 16;
const MAX_LENGTH = 128;
const VALID = /^[\w.:@-]{1,128}$/;

/**
 * Returns a new id: ten characters of the time, by which ids sort, and 26 random ones (128 bits) in Crockford's base 32.
 * An id cannot be guessed from others.
 */
export function newId(now: number = Date.now()): string {
  // Loaded on first use: that takes half as long as loading this whole package.
  random ??= process.getBuiltinModule("node:crypto").randomBytes;
  return (
    encode(BigInt(now), TIME_CHARACTERS) + encode(BigInt(`0x${random(RANDOM_BYTES).toString("hex")}`), 26)
  );
}

let random: typeof import("node:crypto").randomBytes | undefined;

function encode(value: bigint, length: number): string {
  let text = "";
  for (let rest = value; text.length < length; rest >>= 5n) text = ALPHABET[Number(rest & 31n)] + text;
  return text;
}

/**
 * Checks an id that the embedder chose.
 *
 * @throws {TypeError} unless it has 1 to 128 letters, digits, and characters of `_.:@-`.
 */
export function checkId(id: unknown, what: "session" | "turn" | "message"): string {
  if (typeof id === "string" && VALID.test(id)) return id;
  throw new TypeError(`a ${what}'s id must be 1 to ${MAX_LENGTH} letters, digits and characters of _.:@-`);
}
