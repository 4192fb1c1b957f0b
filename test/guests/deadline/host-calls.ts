import type { World } from "../../../examples/quickstart/wasm/build.ts";
import { casesOf, type DeadlineCase, forever } from "./deadline-case.ts";

const WASI: World = {
  name: "uses-clocks",
  wit: `world uses-clocks { import tools; import host; import wasi:clocks/monotonic-clock@0.2.3;
    import wasi:clocks/wall-clock@0.2.3; import wasi:random/random@0.2.3; export guest; }
  package wasi:clocks@0.2.3 {
    interface monotonic-clock { now: func() -> u64; }
    interface wall-clock { record datetime { seconds: u64, nanoseconds: u32 } now: func() -> datetime; }
  }
  package wasi:random@0.2.3 {
    interface random { get-random-bytes: func(len: u64) -> list<u8>; get-random-u64: func() -> u64; }
  }`,
};

const IMPORTS = `
  (import "sandgate:tool/host@0.1.0" "cancelled" (func $cancelled (result i32)))
  (import "sandgate:tool/host@0.1.0" "log" (func $log (param i32 i32 i32)))
  (import "sandgate:tool/tools@0.1.0" "call-tool" (func $call-tool (param i32 i32 i32 i32 i32)))
  (import "wasi:clocks/monotonic-clock@0.2.3" "now" (func $now (result i64)))
  (import "wasi:clocks/wall-clock@0.2.3" "now" (func $wall (param i32)))
  (import "wasi:random/random@0.2.3" "get-random-bytes" (func $bytes (param i64 i32)))
  (import "wasi:random/random@0.2.3" "get-random-u64" (func $random (result i64)))`;

const NAME = '(data (i32.const 512) "spin{}")';
const RESET = "(global.set $free (i32.const 1024))";

/** Components that call the host in a loop. */
export const HOST_CALLS: readonly DeadlineCase[] = casesOf(
  "host calls",
  {
    cancelled: { code: forever("(drop (call $cancelled))") },
    "the log": { code: forever("(call $log (i32.const 1) (i32.const 0) (i32.const 400))") },
    "the monotonic clock": { code: forever("(drop (call $now))") },
    "the wall clock": { code: forever("(call $wall (i32.const 600))") },
    "random numbers": { code: forever("(drop (call $random))") },
    "random bytes": { code: forever(`${RESET} (call $bytes (i64.const 32768) (i32.const 600))`) },
    "nested calls that do not return": {
      fields: NAME,
      code: forever(
        `${RESET} (call $call-tool (i32.const 512) (i32.const 4) (i32.const 516) (i32.const 2) (i32.const 600))`,
      ),
    },
  },
  {
    capabilities: { clock: true, random: true, tools: ["spin"] },
    variation: { world: WASI, imports: IMPORTS },
  },
);
