import { type CanonicalJson, toWellFormed } from "../json/canonical.ts";
import type { Redaction } from "../redaction/redaction.ts";
import { count } from "./escape.ts";
import { PLACE, type Rendering, type RenderOptions, render, textOf } from "./render.ts";

/** The arguments of a call on one line, for a person who decides about it. */
export interface InputSummary extends TextSummary {
  /** SHA-256 of the canonical text that runs, with its secrets: distinguishes long arguments. */
  readonly digest: string;
}

/** A hidden secret in a canonical text, with the hexadecimal digits of its number; or another escape. */
const HIDDEN_OR_ESCAPE = /\\udfff((?:\\udc0[\da-f])+)\\udfff|\\./g;

/** Options of a summary. */
export interface SummaryOptions {
  readonly redaction: Redaction;
  /**
   * Maximum number of characters that are shown, half of the beginning and half of the end. Default: 2,000.
   */
  readonly chars?: number;
}

/** A foreign text, for a person who decides about it. */
export interface TextSummary extends Rendering {
  /** The segments as one text. */
  readonly text: string;
  readonly secretsHidden: number;
  /** Whether anything was left out or hidden, so that a person has to open the whole before deciding. */
  readonly isPartial: boolean;
  /** `12,345 characters left out, 1 secret hidden`; `""` unless the summary is partial. */
  readonly missing: string;
}

const DEFAULT_CHARS = 2_000;
/** A hidden secret: the digits of its number, as halves of surrogate pairs. */
const HIDDEN = /\udfff([\udc00-\udc0f]+)\udfff/g;

/**
 * Summarises a text: without secrets, of a long one the beginning and the end. The secrets of the whole text are counted.
 *
 * @param keepsLines Whether the text keeps its line feeds. Default: they are escaped.
 */
export function textSummary(
  text: string,
  { redaction, chars, keepsLines = false }: SummaryOptions & { readonly keepsLines?: boolean },
): TextSummary {
  const hidden = new HiddenSecrets();
  const narrowed = String(redaction.narrow(text.toWellFormed(), hidden.hide));
  const shown = narrowed.replace(HIDDEN, (_, digits: string) => hidden.place(digits));
  return summarise(shown, hidden, chars, { keepsLines });
}

/** Renders a text in which secrets were hidden. */
export function summarise(
  text: string,
  { notes }: HiddenSecrets,
  chars: number = DEFAULT_CHARS,
  options: RenderOptions = {},
): TextSummary {
  const rendering = render(text, { ...options, chars, notes });
  const secretsHidden = notes.length;
  const missing = missingOf(rendering.charactersLeftOut, secretsHidden);
  return { ...rendering, text: textOf(rendering), secretsHidden, isPartial: missing !== "", missing };
}

/** The secrets that are hidden in a text. It must be well-formed: halves of surrogate pairs stand for secrets only. */
export class HiddenSecrets {
  /** The replacement of each secret, in the order of their places. */
  readonly notes: string[] = [];
  readonly #kinds: string[] = [];

  /** Returns what stands for a secret in a value. No pattern for secrets matches a part of it. */
  readonly hide = (kind: string): string => {
    const digits = Array.from((this.#kinds.push(kind) - 1).toString(16), (digit) =>
      String.fromCharCode(0xdc00 + Number.parseInt(digit, 16)),
    );
    return `${PLACE}${digits.join("")}${PLACE}`;
  };

  /** Returns the place of a note. @param digits What stands between the places in what `hide` returned. */
  place(digits: string): string {
    const number = Array.from(digits, (digit) => (digit.charCodeAt(0) - 0xdc00).toString(16)).join("");
    this.notes.push(`hidden: ${this.#kinds[Number.parseInt(number, 16)]}`);
    return PLACE;
  }
}

function missingOf(charactersLeftOut: number, secretsHidden: number): string {
  return [
    ...(charactersLeftOut > 0 ? [`${count(charactersLeftOut, "character")} left out`] : []),
    ...(secretsHidden > 0 ? [`${count(secretsHidden, "secret")} hidden`] : []),
  ].join(", ");
}

/**
 * Summarises the arguments of a call: their canonical form (RFC 8785) without secrets, of a long one the beginning and
 * the end. The secrets of all the arguments are counted, including those in the middle that is left out.
 */
export function inputSummary(input: CanonicalJson, { redaction, chars }: SummaryOptions): InputSummary {
  const hidden = new HiddenSecrets();
  const canonical = input.shownAs((value) => redaction.narrow(toWellFormed(value), hidden.hide)).text;
  const text = canonical.replace(HIDDEN_OR_ESCAPE, (found, digits?: string) =>
    digits === undefined ? found : hidden.place(JSON.parse(`"${digits}"`) as string),
  );
  return { ...summarise(text, hidden, chars, { syntax: "json" }), digest: input.digest };
}
