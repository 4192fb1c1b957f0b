import { createHash } from "node:crypto";
import { DRIVER_SOURCE } from "../driver/driver.ts";
import { allGroupSources } from "../driver/globals.ts";
import {
  DATA_END,
  ENGINE_SHA256,
  HEAP_END_CELL,
  HEAP_START,
  RANDOM_STATE,
  STACK_TOP,
} from "../engine/engine-binary.ts";
import { BLOCK_BYTES } from "../engine/suspended-guest.ts";

/** Counts the changes of how a suspended call is written that do not show in the sources below. */
const FORMAT = 1;

let build: string | undefined;

/** How many digits of a build are shown. */
const SHOWN_DIGITS = 12;

/** Returns the text for the model if a call was suspended by another build. */
export function otherBuildText(build: string): string {
  const [other, own] = [build, engineBuild()].map((each) => each.slice(0, SHOWN_DIGITS));
  return (
    `it was suspended by the build ${other} of the engine, and this is ${own}: only the version of sandgate that suspended ` +
    "it goes on with it; begin it again"
  );
}

/**
 * Identifies everything that a suspended guest depends on: the engine's binary, the driver and its web APIs, and the places
 * in memory. 64 hexadecimal digits.
 */
export function engineBuild(): string {
  build ??= createHash("sha256")
    .update(
      JSON.stringify([
        FORMAT,
        ENGINE_SHA256,
        DRIVER_SOURCE,
        ...allGroupSources(),
        DATA_END,
        STACK_TOP,
        HEAP_START,
        HEAP_END_CELL,
        RANDOM_STATE,
        BLOCK_BYTES,
      ]),
    )
    .digest("hex");
  return build;
}
