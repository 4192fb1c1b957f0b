import { loadCrypto } from "../../../../../base/load-crypto.ts";
import type { EntryStat } from "../../../../../workspace/entry-stat.ts";
import type { ComponentRecord } from "../../../abi/value.ts";

const NANOSECONDS_PER_SECOND = 1_000_000_000n;

/** Keyed into hashes, so that a component cannot derive this machine's device and inode numbers from them. */
let secret: Uint8Array | undefined;

/** Returns the record `descriptor-stat`. */
export function descriptorStat({
  kind,
  links,
  size,
  accessedAt,
  modifiedAt,
  changedAt,
}: EntryStat): ComponentRecord {
  return {
    type: kind,
    "link-count": links,
    size,
    "data-access-timestamp": datetime(accessedAt),
    "data-modification-timestamp": datetime(modifiedAt),
    "status-change-timestamp": datetime(changedAt),
  };
}

/** Returns the record `metadata-hash-value`. All descriptors of a file have the same value within one thread. */
export function metadataHash({ identity }: EntryStat): ComponentRecord {
  const { createHash, randomBytes } = loadCrypto();
  secret ??= randomBytes(16);
  const digest = createHash("sha256").update(secret).update(identity).digest();
  return { lower: digest.readBigUInt64LE(0), upper: digest.readBigUInt64LE(8) };
}

/** Returns the record `datetime`; `undefined` for a time before the epoch, which it cannot represent. */
function datetime(ns: bigint): ComponentRecord | undefined {
  if (ns < 0n) return undefined;
  return { seconds: ns / NANOSECONDS_PER_SECOND, nanoseconds: Number(ns % NANOSECONDS_PER_SECOND) };
}
