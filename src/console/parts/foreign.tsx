import type { JSX } from "preact";
import { escapeText } from "../../rendering/escape.ts";
import { diffLineKinds, indentJson } from "./format.ts";

/** Characters that a person cannot see, except the line feed. The server has escaped them; this is a second look. */
const HIDDEN = /(?!\n)[\p{C}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu;

/** Replaces what a person cannot see by escapes. */
export function visible(text: string): string {
  return text.replace(HIDDEN, (found) =>
    [...Array(found.length).keys()]
      .map((at) => `\\u${found.charCodeAt(at).toString(16).padStart(4, "0")}`)
      .join(""),
  );
}

/** Shows a foreign text that the server has escaped, as one text node that does not change the direction around it. */
export function Foreign({ text }: { readonly text: string }): JSX.Element {
  return <bdi class="foreign">{visible(text)}</bdi>;
}

/** Shows a foreign text of several lines that the server has escaped. It scrolls, so that the keyboard can reach it. */
export function ForeignBlock({
  text,
  label,
}: {
  readonly text: string;
  readonly label: string;
}): JSX.Element {
  return (
    <section class="block" aria-label={label} tabIndex={0}>
      <pre>
        <bdi class="foreign">{visible(text)}</bdi>
      </pre>
    </section>
  );
}

/**
 * Shows a whole JSON text that the server has not escaped: misleading characters become escapes of JSON, so that the text
 * means the same value.
 */
export function ExactJson({ text, label }: { readonly text: string; readonly label: string }): JSX.Element {
  return <Exact text={indentJson(text)} label={label} syntax="json" />;
}

/** Shows a foreign text that the server has not escaped. */
export function Exact({
  text,
  label,
  syntax = "text",
}: {
  readonly text: string;
  readonly label: string;
  readonly syntax?: "text" | "json";
}): JSX.Element {
  return (
    <section class="block" aria-label={label} tabIndex={0}>
      <pre>
        <bdi class="foreign">
          <Escaped text={text} syntax={syntax} />
        </bdi>
      </pre>
    </section>
  );
}

/** The parts of a foreign text that the server has not escaped, whose escapes stand out. */
export function Escaped({
  text,
  syntax = "text",
  keepsLines = true,
}: {
  readonly text: string;
  readonly syntax?: "text" | "json";
  /** Whether it has several lines. */
  readonly keepsLines?: boolean;
}): JSX.Element {
  const segments = escapeText(text, { syntax, keepsLines, maxSpaces: Number.POSITIVE_INFINITY });
  return (
    <>{segments.map(({ kind, text: part }) => (kind === "text" ? part : <span class={kind}>{part}</span>))}</>
  );
}

/** Shows a value of the API, whose texts the server has escaped, as indented JSON. */
export function Json({ value, label }: { readonly value: unknown; readonly label: string }): JSX.Element {
  return <ForeignBlock text={JSON.stringify(value, null, 2) ?? ""} label={label} />;
}

/** Writes a short value of the API in one line, a number with two decimals at most. */
export function brief(value: unknown): string {
  if (typeof value === "string") return value;
  if (typeof value === "object" && value !== null && "decision" in value) return brief(value.decision);
  if (typeof value === "number") return String(Math.round(value * 100) / 100);
  return value === undefined ? "" : JSON.stringify(value);
}

/** Shows a unified diff. The sign of each line stays in the text: colour alone says nothing. */
export function Diff({ text, label }: { readonly text: string; readonly label: string }): JSX.Element {
  const lines = text.replace(/\n$/, "").split("\n");
  const kinds = diffLineKinds(lines);
  return (
    <section class="block diff" aria-label={label} tabIndex={0}>
      <pre>
        {lines.map((line, at) => (
          <bdi key={at} class={`line foreign ${kinds[at]}`}>
            {`${visible(line)}\n`}
          </bdi>
        ))}
      </pre>
    </section>
  );
}
