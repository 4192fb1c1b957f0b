import type { CanonicalJson } from "../json/canonical.ts";
import { toWellFormed } from "../json/well-formed.ts";
import type { Redaction } from "../redaction/redaction.ts";
import { PLACE, type Rendering, render, textOf } from "./render.ts";
import { count } from "./segment.ts";

/** Options of {@link inputSummary}. */
export interface InputSummaryOptions {
  readonly redaction: Redaction;
  /** The most characters that are shown, half of the beginning and half of the end. Default: 2,000. */
  readonly chars?: number;
}

/** The arguments of a call as a person who decides about it is shown them. */
export interface InputSummary extends Rendering {
  /** The segments as one line. */
  readonly text: string;
  /** SHA-256 of the canonical text that runs, with its secrets: tells two long arguments apart. */
  readonly digest: string;
  readonly secretsHidden: number;
  /** Whether anything was left out or hidden, so that a person has to open the whole before allowing the call. */
  readonly isPartial: boolean;
  /** `12,345 characters left out, 1 secret hidden`; `""` unless the summary is partial. */
  readonly missing: string;
}

const DEFAULT_CHARS = 2_000;
/** A hidden secret in a canonical text, with the hexadecimal digits of its number; or another escape. */
const HIDDEN_OR_ESCAPE = /\\udfff((?:\\udc0[\da-f])+)\\udfff|\\./g;

/**
 * Summarises the arguments of a call: their canonical form (RFC 8785) without secrets, of a long one the beginning and
 * the end. The secrets of all the arguments are counted, also those in the middle that is left out.
 */
export function inputSummary(
  input: CanonicalJson,
  { redaction, chars = DEFAULT_CHARS }: InputSummaryOptions,
): InputSummary {
  const kinds: string[] = [];
  const hide = (kind: string): string => {
    kinds.push(kind);
    return hiddenSecret(kinds.length - 1);
  };
  // Halves of surrogate pairs stand for secrets only.
  const canonical = input.shownAs((value) => redaction.narrow(toWellFormed(value), hide)).text;
  const notes: string[] = [];
  const text = canonical.replace(HIDDEN_OR_ESCAPE, (found, digits?: string) => {
    if (digits === undefined) return found;
    notes.push(`hidden: ${kinds[Number.parseInt(digits.replaceAll("\\udc0", ""), 16)]}`);
    return PLACE;
  });
  const rendering = render(text, { syntax: "json", chars, notes });
  const secretsHidden = notes.length;
  const missing = missingOf(rendering.charactersLeftOut, secretsHidden);
  return {
    ...rendering,
    text: textOf(rendering),
    digest: input.digest,
    secretsHidden,
    isPartial: missing !== "",
    missing,
  };
}

/** What stands for a secret in a value. No pattern for secrets matches a part of it. */
function hiddenSecret(number: number): string {
  const digits = Array.from(number.toString(16), (digit) =>
    String.fromCharCode(0xdc00 + Number.parseInt(digit, 16)),
  );
  return `${PLACE}${digits.join("")}${PLACE}`;
}

function missingOf(charactersLeftOut: number, secretsHidden: number): string {
  return [
    ...(charactersLeftOut > 0 ? [`${count(charactersLeftOut, "character")} left out`] : []),
    ...(secretsHidden > 0 ? [`${count(secretsHidden, "secret")} hidden`] : []),
  ].join(", ");
}
