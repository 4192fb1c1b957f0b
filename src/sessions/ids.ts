const ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
const TIME_CHARACTERS = 10;
const RANDOM_BYTES = 16;
const IDS_PER_DRAW = 128;
const MAX_LENGTH = 128;
const VALID = /^[\w.:@-]{1,128}$/;

/**
 * Returns a new id: ten characters of the time, by which ids sort, and 26 random ones (128 bits) in Crockford's base 32.
 * An id cannot be guessed from others.
 */
export function newId(now: number = Date.now()): string {
  return encodeTime(now) + encodeBytes(randomBytes());
}

function encodeTime(now: number): string {
  let text = "";
  for (let rest = now; text.length < TIME_CHARACTERS; rest = Math.floor(rest / 32)) {
    text = ALPHABET.charAt(rest % 32) + text;
  }
  return text;
}

function encodeBytes(bytes: Uint8Array): string {
  let text = "";
  let value = 0;
  /** How many of the lowest bits of `value` are not in the text yet. */
  let bits = 0;
  for (const byte of bytes) {
    value = ((value << 8) | byte) & 0xff_ff;
    for (bits += 8; bits >= 5; bits -= 5) text += ALPHABET.charAt((value >> (bits - 5)) & 31);
  }
  return bits === 0 ? text : text + ALPHABET.charAt((value << (5 - bits)) & 31);
}

let drawn: Uint8Array | undefined;
let used = 0;

/** Returns random bytes that were not returned before. They are drawn for many ids at once, which takes most of the time. */
function randomBytes(): Uint8Array {
  if (drawn === undefined || used === drawn.length) {
    // Loaded on first use: that takes half as long as loading this whole package.
    const { randomFillSync } = process.getBuiltinModule("node:crypto");
    drawn = randomFillSync(drawn ?? new Uint8Array(RANDOM_BYTES * IDS_PER_DRAW));
    used = 0;
  }
  used += RANDOM_BYTES;
  return drawn.subarray(used - RANDOM_BYTES, used);
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
