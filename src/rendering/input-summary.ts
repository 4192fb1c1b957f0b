import type { CanonicalJson } from "../json/canonical.ts";
import { toWellFormed } from "../json/well-formed.ts";
import { HiddenSecrets, type SummaryOptions, summarise, type TextSummary } from "./text-summary.ts";

/** The arguments of a call as a person who decides about it is shown them, as one line. */
export interface InputSummary extends TextSummary {
  /** SHA-256 of the canonical text that runs, with its secrets: tells two long arguments apart. */
  readonly digest: string;
}

/** A hidden secret in a canonical text, with the hexadecimal digits of its number; or another escape. */
const HIDDEN_OR_ESCAPE = /\\udfff((?:\\udc0[\da-f])+)\\udfff|\\./g;

/**
 * Summarises the arguments of a call: their canonical form (RFC 8785) without secrets, of a long one the beginning and
 * the end. The secrets of all the arguments are counted, also those in the middle that is left out.
 */
export function inputSummary(input: CanonicalJson, { redaction, chars }: SummaryOptions): InputSummary {
  const hidden = new HiddenSecrets();
  const canonical = input.shownAs((value) => redaction.narrow(toWellFormed(value), hidden.hide)).text;
  const text = canonical.replace(HIDDEN_OR_ESCAPE, (found, digits?: string) =>
    digits === undefined ? found : hidden.place(JSON.parse(`"${digits}"`) as string),
  );
  return { ...summarise(text, hidden, chars, { syntax: "json" }), digest: input.digest };
}
