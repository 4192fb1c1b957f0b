const ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
const TIME_CHARACTERS = 10;
const RANDOM_BYTES = 16;
const RANDOM_CHARACTERS = 26;
const IDS_PER_DRAW = 128;
const MAX_LENGTH = 128;
const VALID = /^[\w.:@-]{1,128}$/;

/**
 * Returns a new id: ten characters of the time, by which ids sort, and 26 random ones (128 bits) in Crockford's base 32.
 * An id cannot be guessed from others.
 *
 * @param now In whole milliseconds since the epoch.
 */
export function newId(now: number = Date.now()): string {
  if (now !== written) writeTime(now);
  writeRandom();
  // Written as bytes: a string that grows by single characters would be a chain of its parts.
  return text.toString("latin1");
}

const CODES = Buffer.from(ALPHABET, "latin1");
const text = Buffer.alloc(TIME_CHARACTERS + RANDOM_CHARACTERS);
/** The time in `text`. */
let written: number | undefined;

function writeTime(now: number): void {
  written = now;
  for (let at = TIME_CHARACTERS - 1, rest = now; at >= 0; at--, rest = Math.floor(rest / 32)) {
    text[at] = CODES[rest % 32] as number;
  }
}

function writeRandom(): void {
  let at = TIME_CHARACTERS;
  let value = 0;
  /** How many of the lowest bits of `value` are not in the text yet. */
  let bits = 0;
  for (const byte of randomBytes()) {
    value = ((value << 8) | byte) & 0xff_ff;
    for (bits += 8; bits >= 5; bits -= 5) text[at++] = CODES[(value >> (bits - 5)) & 31] as number;
  }
  text[at] = CODES[(value << (5 - bits)) & 31] as number;
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
export function checkId(id: unknown, what: "session" | "turn" | "message" | "task"): string {
  if (typeof id === "string" && VALID.test(id)) return id;
  throw new TypeError(`a ${what}'s id must be 1 to ${MAX_LENGTH} letters, digits and characters of _.:@-`);
}
