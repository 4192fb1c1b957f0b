import type { Capabilities } from "../../../src/policy/grant/capabilities.ts";
import type { WatVariation } from "../../fixtures/wasm/wat-component.ts";

/** A component that tries to outlive its deadline. */
export interface DeadlineCase {
  /** What kind of component it is. The report has one row for each group. */
  readonly group: string;
  /** Unique. */
  readonly name: string;
  readonly variation: WatVariation;
  /** The memory limit of its calls. Default: 64 MiB. */
  readonly memoryBytes?: number;
  /** What it is granted. Default: nothing. */
  readonly capabilities?: Capabilities;
}

/** The functions of a core module, and the code that calls them. */
export interface GuestCode {
  readonly fields?: string;
  readonly code: string;
}

/** Text several times in a row. */
export function times(count: number, text: string): string {
  return text.repeat(count);
}

/** A loop that does not end. What follows it is never reached. */
export function forever(code: string): string {
  return `(loop $forever ${code} (br $forever)) unreachable`;
}

/**
 * Runs a function with an argument of 0 often enough for V8 to optimise it, then with 1 for ever. With 0 it must
 * return soon.
 */
export function warmedUp(name: string): string {
  return `(local $rounds i32) (loop $warm (call ${name} (i32.const 0))
    (br_if $warm (i32.lt_u (local.tee $rounds (i32.add (local.get $rounds) (i32.const 1))) (i32.const 5000000))))
    ${forever(`(call ${name} (i32.const 1))`)}`;
}

/** Makes cases of a group: in the function that is called, and as start functions. */
export function casesOf(
  group: string,
  guests: Readonly<Record<string, GuestCode>>,
  rest: Partial<DeadlineCase> = {},
): readonly DeadlineCase[] {
  return Object.entries(guests).map(([name, { fields = "", code }]) => ({
    ...rest,
    group,
    name: `${group}: ${name}`,
    variation: { ...rest.variation, fields, call: code },
  }));
}

/** The same code, run by a start function. */
export function asStartFunctions(cases: readonly DeadlineCase[]): readonly DeadlineCase[] {
  return cases.map((each) => ({
    ...each,
    group: "start functions",
    name: `start functions: ${each.name}`,
    variation: {
      ...each.variation,
      fields: `${each.variation.fields} (func $start ${each.variation.call}) (start $start)`,
      call: "unreachable",
    },
  }));
}
