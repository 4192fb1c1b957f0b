import { randomBytes } from "node:crypto";
import type { WasiMembers } from "./members.ts";

/** The most random bytes that one call of a function gives. */
const MAX_BYTES = 65_536n;

function bytes(count: bigint): Uint8Array {
  // The interface has no way to give less than was asked for, so it traps.
  if (count > MAX_BYTES) throw new RangeError(`more than ${MAX_BYTES} random bytes were asked for at once`);
  return Uint8Array.from(randomBytes(Number(count)));
}

function u64(): bigint {
  return randomBytes(8).readBigUInt64LE();
}

/** `wasi:random/random`, granted. */
export const random: WasiMembers = { getRandomBytes: bytes, getRandomU64: u64 };

/** `wasi:random/insecure`, granted: as good as the other. */
export const insecure: WasiMembers = { getInsecureRandomBytes: bytes, getInsecureRandomU64: u64 };

/** `wasi:random/insecure-seed`, granted. */
export const insecureSeed: WasiMembers = { insecureSeed: () => [u64(), u64()] };
