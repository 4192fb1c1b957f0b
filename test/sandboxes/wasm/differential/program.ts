/**
 * Runs random types, and the examples of known differences, through both engines. Prints as JSON the number of calls, the
 * differences, and how the examples ended. Its arguments are the number of types and the seed.
 */
import type { ComponentValue } from "../../../../src/sandboxes/wasm/abi/value.ts";
import { argumentsFromJson } from "../../../../src/sandboxes/wasm/exports/json.ts";
import { typeText, type ValueType } from "../../../../src/sandboxes/wasm/linking/value-type.ts";
import { type BothEngines, bothEngines, type End, type EngineRun } from "./both-engines.ts";
import { type Difference, isSameEnd } from "./difference.ts";
import { KNOWN_DIFFERENCES } from "./known-differences.ts";
import { bytesOf, randomValues } from "./random-values.ts";
import { type Encoding, HEAP_AT, RESULT_AT, SLOTS_AT, valueComponent } from "./value-component.ts";

const BATCH = 50;
const ENCODINGS: readonly Encoding[] = ["utf8", "utf16"];
const SLOTS_BYTES = 128;
const HEAP_BYTES = 4_096;

/** What the program prints. */
export interface Report {
  readonly calls: number;
  readonly differences: readonly Difference[];
  /** In the order of `KNOWN_DIFFERENCES`. */
  readonly examples: readonly Ends[];
}

/** How both engines ended a call. */
interface Ends {
  readonly ours: End;
  readonly jco: End;
}

function inBoth({ ours, jco }: BothEngines, call: (engine: EngineRun) => End): Ends {
  return { ours: call(ours), jco: call(jco) };
}

/** Passes a value to the component. The result is what is in its memory then. */
function put(engine: EngineRun, index: number, value: ComponentValue): End {
  const end = engine.call(`put${index}`, [value]);
  if ("trap" in end) return end;
  const slots = engine.call("dump", [SLOTS_AT, SLOTS_BYTES], true);
  const heap = engine.call("dump", [HEAP_AT, HEAP_BYTES], true);
  return { value: JSON.stringify([slots, heap]) };
}

/** Has the component return what the bytes of its memory are. */
function get(engine: EngineRun, index: number, bytes: Uint8Array, continues: boolean): End {
  engine.call("poke", [RESULT_AT, bytes], continues);
  return engine.call(`get${index}`, [], true);
}

async function randomCalls(count: number, seed: number): Promise<Omit<Report, "examples">> {
  const differences: Difference[] = [];
  let calls = 0;
  const check = (
    direction: Difference["direction"],
    type: ValueType,
    encoding: Encoding,
    given: string,
    ends: Ends,
  ): boolean => {
    calls++;
    const isSame = isSameEnd(ends.ours, ends.jco);
    if (!isSame) differences.push({ direction, type: typeText(type), encoding, given, ...ends });
    return isSame && "value" in ends.ours;
  };
  const values = randomValues(count, seed);
  for (let start = 0; start < values.length; start += BATCH) {
    const batch = values.slice(start, start + BATCH);
    const encoding = ENCODINGS[(start / BATCH) % ENCODINGS.length] ?? "utf8";
    const types = batch.map(({ type }) => type);
    const engines = await bothEngines(await valueComponent(types, encoding));
    for (const [index, random] of batch.entries()) {
      const { type, value, json, changes } = random;
      check(
        "put",
        type,
        encoding,
        json,
        inBoth(engines, (engine) => put(engine, index, value)),
      );
      const bytes = bytesOf(random, encoding);
      // Only instances with the same past are compared.
      let mayContinue = false;
      for (const change of [[], ...changes]) {
        const changed = Buffer.from(bytes);
        for (const [position, byte] of change) changed[Math.floor(position * changed.length)] = byte;
        const ends = inBoth(engines, (engine) => get(engine, index, changed, mayContinue));
        mayContinue = check("get", type, encoding, changed.toString("hex"), ends);
      }
    }
  }
  return { calls, differences };
}

async function exampleEnds(): Promise<readonly Ends[]> {
  const ends: Ends[] = [];
  for (const encoding of ENCODINGS) {
    const types = KNOWN_DIFFERENCES.map(({ example }) => example.type);
    const engines = await bothEngines(await valueComponent(types, encoding));
    for (const [index, { example }] of KNOWN_DIFFERENCES.entries()) {
      if (example.encoding !== encoding) continue;
      ends[index] = inBoth(engines, (engine) => {
        if ("bytes" in example) return get(engine, index, Uint8Array.from(example.bytes), false);
        const [value] = argumentsFromJson([{ name: "v", type: example.type }], { v: example.json });
        return put(engine, index, value);
      });
    }
  }
  return ends;
}

const [count = 0, seed = 0] = process.argv.slice(2).map(Number);
const report: Report = { ...(await randomCalls(count, seed)), examples: await exampleEnds() };
console.log(JSON.stringify(report));
