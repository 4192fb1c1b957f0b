import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { DispatchedRecord } from "../../../src/engine/call/journal.ts";
import { CallLineReader, parseText } from "../../../src/journal/diff/diff-range.ts";
// Inside: a property of lines with any arguments, which a journal would have to write to the disk first.
import { deniedParts, dispatchedParts, namesOf } from "../../../src/journal/line/call-parts.ts";
import { composeLine, parseEntry, type RecordParts } from "../../../src/journal/line/entry.ts";
import { canonicalText } from "../../../src/json/canonical.ts";
import { freezeJson, type JsonValue } from "../../../src/json/value.ts";
import { denied, dispatched } from "../records.ts";

const PREV = "0123456789abcdef".repeat(4);

function lineOf(parts: RecordParts): string {
  return composeLine(parts, 1_700_000_000_000, PREV, 7);
}

function dispatchedLine(record: DispatchedRecord, sealed?: string): string {
  const { text, digest } = record.canonical;
  return lineOf(dispatchedParts(record, namesOf(record), { text, digest, sealed }));
}

/** Names of members of records, which arguments and principals may have, too. */
const NAMES = ["args", "argumentDigest", "at", "decision", "definitionDigest", "prev", "principal", "seq"];
const DIGESTS = fc.constantFrom("a".repeat(64), PREV, 'a","at":1,', '\\","argumentDigest":"');
const value = fc.letrec<{ any: JsonValue }>((tie) => ({
  any: fc.oneof(
    { maxDepth: 3 },
    fc.string({ maxLength: 4 }),
    DIGESTS,
    fc.integer(),
    fc.constantFrom(null, true, 0.5),
    fc.array(tie("any"), { maxLength: 3 }),
    fc.dictionary(fc.constantFrom(...NAMES, "é", 'a"b'), tie("any"), { maxKeys: 5 }),
  ),
})).any as fc.Arbitrary<JsonValue>;

describe("The line of a call", () => {
  test("is cut into what parsing it gives, whatever stands in its arguments and its principal", () => {
    const reader = new CallLineReader();
    let read = 0;
    fc.assert(
      fc.property(value, fc.option(value), fc.boolean(), (input, attribute, isDispatched) => {
        const principal = { id: "eve", kind: "user", attributes: { team: attribute } } as const;
        const more = attribute === null ? {} : { principal: freezeJson(principal) as typeof principal };
        const record = dispatched("call", input, more);
        const { text, digest } = record.canonical;
        const line = isDispatched
          ? dispatchedLine(record)
          : lineOf(
              deniedParts(denied("call", { ...more, decision: "deny", definitionDigest: "d".repeat(64) }), {
                text,
                digest,
              }),
            );
        const cut = reader.read(line);
        // If the name of the next member also stands in the arguments, they are cut there.
        if (cut === undefined || parseText(cut.args) === undefined) return;
        read++;
        const entry = parseEntry(line);
        expect(cut.args).toBe(canonicalText(input));
        expect(cut).toMatchObject({ at: entry?.at, argumentDigest: entry?.["argumentDigest"] });
        expect(cut.definitionDigest).toBe(entry?.["definitionDigest"]);
        expect(cut.principal).toEqual(entry?.["principal"]);
      }),
      { numRuns: 1_000 },
    );
    expect(read).toBeGreaterThan(500);
  });

  test("is not cut if its arguments are sealed, or no policy decided", () => {
    const reader = new CallLineReader();
    expect(reader.read(dispatchedLine(dispatched("call")))).toBeDefined();
    expect(reader.read(dispatchedLine(dispatched("call"), "5".repeat(64)))).toBeUndefined();
    const { text, digest } = dispatched("call").canonical;
    expect(reader.read(lineOf(deniedParts(denied("call"), { text, digest })))).toBeUndefined();
    expect(reader.read(lineOf(deniedParts(denied("call"), undefined)))).toBeUndefined();
    expect(reader.read(`${dispatchedLine(dispatched("call"))} `)).toBeUndefined();
  });
});
