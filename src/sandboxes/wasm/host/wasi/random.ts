import { loadCrypto } from "../../../../base/load-crypto.ts";
import type { InterfaceMembers } from "../interface-members.ts";
import { MisuseError } from "../misuse.ts";

/** The maximum number of random bytes per function call. */
const MAX_BYTES = 65_536n;

/** The interfaces of `wasi:random`. All use the same source, so insecure random numbers are as good as secure ones. */
export interface RandomInterfaces {
  readonly random: InterfaceMembers;
  readonly insecure: InterfaceMembers;
  readonly insecureSeed: InterfaceMembers;
}

/**
 * Returns the interfaces of `wasi:random` for one instance.
 *
 * @param seed The same seed gives the same numbers. If `undefined`, they are unpredictable.
 */
export function randomInterfaces(seed: string | undefined): RandomInterfaces {
  const draw = seed === undefined ? (count: number) => loadCrypto().randomBytes(count) : seededSource(seed);
  const bytes = (count: bigint): Uint8Array => {
    // The interface cannot return fewer bytes than requested, so this ends the call.
    if (count > MAX_BYTES) {
      throw new MisuseError(
        "wasi:random/random",
        `it asked for ${count} random bytes at once: at most ${MAX_BYTES} are allowed`,
      );
    }
    return Uint8Array.from(draw(Number(count)));
  };
  const u64 = (): bigint => draw(8).readBigUInt64LE();
  return {
    random: { getRandomBytes: bytes, getRandomU64: u64 },
    insecure: { getInsecureRandomBytes: bytes, getInsecureRandomU64: u64 },
    insecureSeed: { insecureSeed: () => [u64(), u64()] },
  };
}

/** Returns the key stream of a cipher whose key is the seed's digest. */
function seededSource(seed: string): (count: number) => Buffer {
  const { createCipheriv, createHash } = loadCrypto();
  const key = createHash("sha256").update(seed).digest();
  const cipher = createCipheriv("aes-256-ctr", key, Buffer.alloc(16));
  return (count) => cipher.update(Buffer.alloc(count));
}
