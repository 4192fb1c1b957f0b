import type { WasiMembers } from "./members.ts";
import { Pollable } from "./poll.ts";

const NANOSECONDS_PER_SECOND = 1_000_000_000n;
const NANOSECONDS_PER_MS = 1_000_000n;

interface Datetime {
  readonly seconds: bigint;
  readonly nanoseconds: number;
}

/** `wasi:clocks/wall-clock`, granted. */
export const wallClock: WasiMembers = {
  now(): Datetime {
    const ns = BigInt(Date.now()) * NANOSECONDS_PER_MS;
    return {
      seconds: ns / NANOSECONDS_PER_SECOND,
      nanoseconds: Number(ns % NANOSECONDS_PER_SECOND),
    };
  },
  resolution(): Datetime {
    return { seconds: 0n, nanoseconds: Number(NANOSECONDS_PER_MS) };
  },
};

/** `wasi:clocks/monotonic-clock`, granted. */
export const monotonicClock: WasiMembers = {
  now(): bigint {
    return process.hrtime.bigint();
  },
  resolution(): bigint {
    return 1n;
  },
  subscribeInstant(when: bigint): Pollable {
    return Pollable.at(when);
  },
  subscribeDuration(ns: bigint): Pollable {
    return Pollable.at(process.hrtime.bigint() + ns);
  },
};
