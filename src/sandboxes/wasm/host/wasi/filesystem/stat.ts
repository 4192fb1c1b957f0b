import { createHash, randomBytes } from "node:crypto";
import type { EntryStat } from "../../../../../workspace/entry-stat.ts";
import type { ComponentRecord } from "../../../abi/value.ts";

const NANOSECONDS_PER_SECOND = 1_000_000_000n;

/** Keeps a component from learning this machine's numbers out of hashes. */
const SECRET = randomBytes(16);

/** The record `descriptor-stat`. */
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

/** The record `metadata-hash-value`: the same for two descriptors of one file, as long as this thread lives. */
export function metadataHash({ identity }: EntryStat): ComponentRecord {
  const digest = createHash("sha256").update(SECRET).update(identity).digest();
  return { lower: digest.readBigUInt64LE(0), upper: digest.readBigUInt64LE(8) };
}

/** The record `datetime`; none for a time before the epoch, which it cannot tell. */
function datetime(ns: bigint): ComponentRecord | undefined {
  if (ns < 0n) return undefined;
  return { seconds: ns / NANOSECONDS_PER_SECOND, nanoseconds: Number(ns % NANOSECONDS_PER_SECOND) };
}
