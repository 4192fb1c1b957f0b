import { createCipheriv, createHash, randomBytes } from "node:crypto";
import type { InterfaceMembers } from "../interface-members.ts";

/** The most random bytes that one call of a function gives. */
const MAX_BYTES = 65_536n;

/** The functions of `wasi:random`, granted. All draw from one source: insecure numbers are as good. */
export interface RandomInterfaces {
  readonly random: InterfaceMembers;
  readonly insecure: InterfaceMembers;
  readonly insecureSeed: InterfaceMembers;
}

/**
 * Makes `wasi:random` for one call.
 *
 * @param seed What the numbers are made of: the same seed gives the same numbers. `undefined` for chance.
 */
export function randomInterfaces(seed: string | undefined): RandomInterfaces {
  const draw = seed === undefined ? (count: number) => randomBytes(count) : seededSource(seed);
  const bytes = (count: bigint): Uint8Array => {
    // The interface has no way to give less than was asked for, so it traps.
    if (count > MAX_BYTES) throw new RangeError(`more than ${MAX_BYTES} random bytes were asked for at once`);
    return Uint8Array.from(draw(Number(count)));
  };
  const u64 = (): bigint => draw(8).readBigUInt64LE();
  return {
    random: { getRandomBytes: bytes, getRandomU64: u64 },
    insecure: { getInsecureRandomBytes: bytes, getInsecureRandomU64: u64 },
    insecureSeed: { insecureSeed: () => [u64(), u64()] },
  };
}

/** The key stream of a cipher whose key is the seed's digest. */
function seededSource(seed: string): (count: number) => Buffer {
  const key = createHash("sha256").update(seed).digest();
  const cipher = createCipheriv("aes-256-ctr", key, Buffer.alloc(16));
  return (count) => cipher.update(Buffer.alloc(count));
}
