import { isJsonObject, type JsonValue } from "../../../json/value.ts";
import type { ToolField, ValueProvenance, ValueSource } from "../../history/value-provenance.ts";
import type { PolicyRequest } from "../../policy.ts";
import { MAX_REFERENCE_TEXT, referencesIn } from "../../words/references.ts";
import { allOf, anyOf, type Match, yesOrNo } from "./match.ts";

/** A call with what came before it. */
type CallInSession = Pick<PolicyRequest, "history">;

/** Decides whether a value meets a condition in a call. */
export type ProvenanceTest = (value: JsonValue, call: CallInSession) => Match;

/**
 * Tests that a text or number came whole from one of these sources, or a list of them. Values of other types come from
 * nowhere; an empty list has no value that could.
 */
export function compileFrom(sources: readonly ValueSource[]): ProvenanceTest {
  const test: ProvenanceTest = (value, call) => {
    if (Array.isArray(value)) return allOf(value as readonly JsonValue[], (each) => test(each, call));
    if (typeof value !== "string" && typeof value !== "number") return "no";
    return fromOneOf(sources, call, (provenance, source) => provenance.isFrom(source, value));
  };
  return test;
}

/** Tests that each link, address and account number in the texts of a value came from one of these sources. */
export function compileLinks(sources: readonly ValueSource[]): ProvenanceTest {
  return (value, call) =>
    allOf([...textsIn(value)], (text) => {
      if (text.length > MAX_REFERENCE_TEXT) return "unclear";
      return allOf([...referencesIn(text)], (reference) =>
        fromOneOf(sources, call, (provenance, source) => provenance.isReferenceFrom(source, reference)),
      );
    });
}

/** Tests that no text of a value contains a value of one of these fields. */
export function compileWithout(fields: readonly ToolField[]): ProvenanceTest {
  return (value, { history }) => {
    const texts = [...textsIn(value)];
    return allOf(fields, (field) =>
      allOf(texts, (text) => {
        if (text.length > MAX_REFERENCE_TEXT) return "unclear";
        const holds = history?.provenance?.holdsValueOf(field, text);
        return holds === undefined ? "unclear" : yesOrNo(!holds);
      }),
    );
  };
}

function fromOneOf(
  sources: readonly ValueSource[],
  { history }: CallInSession,
  ask: (provenance: ValueProvenance, source: ValueSource) => boolean | undefined,
): Match {
  const provenance = history?.provenance;
  if (provenance === undefined) return "unclear";
  return anyOf(sources, (source) => {
    const answer = ask(provenance, source);
    return answer === undefined ? "unclear" : yesOrNo(answer);
  });
}

/** Yields every text of a value, with the names of members, and its numbers as text. */
function* textsIn(value: JsonValue): Generator<string> {
  if (typeof value === "string") yield value;
  else if (typeof value === "number") yield String(value);
  else if (Array.isArray(value)) for (const each of value) yield* textsIn(each);
  else if (isJsonObject(value)) {
    for (const [name, member] of Object.entries(value)) {
      yield name;
      if (member !== undefined) yield* textsIn(member);
    }
  }
}
