import type { FsGrant } from "../../../../policy/grant/fs-grant.ts";

/** What a call may access through WASI. Everything else is empty or denied. */
export interface WasiGrant {
  /** Environment variables: names and values. */
  readonly env: readonly (readonly [name: string, value: string])[];
  readonly clock: boolean;
  readonly random: boolean;
  /** The fixed time of the clocks, in ms since the epoch; `undefined` for the current time. */
  readonly frozenClock: number | undefined;
  /** The seed of random numbers; `undefined` for unpredictable ones. */
  readonly randomSeed: string | undefined;
  /** The granted directories and files. */
  readonly fs: readonly FsGrant[];
  /** How many bytes each call may write to files in these directories. */
  readonly fileBytes: number;
}
