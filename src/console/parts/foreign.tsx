import type { JSX } from "preact";
import { escapeText } from "../../rendering/escaping/escape.ts";
import { indentJson } from "./indent-json.ts";

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
 * Shows a JSON text that the server has not escaped, whole: everything that is not what it looks like becomes an escape of
 * JSON, so that the text shown means the same value.
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

/** Writes everything in a JSON text that is not what it looks like as escapes of JSON, so that it can be edited. */
export function printableJson(text: string): string {
  return printable(indentJson(text), "json");
}

/** Escapes a text of several lines that the server has not escaped. */
export function printable(text: string, syntax: "text" | "json" = "text"): string {
  return escapeText(text, { syntax, keepsLines: true, maxSpaces: Number.POSITIVE_INFINITY })
    .map(({ text: part }) => part)
    .join("");
}

/** Escapes a text that the server has not escaped, such as a path, so that it is one line. */
export function printableLine(text: string): string {
  return escapeText(text, { syntax: "text", keepsLines: false, maxSpaces: Number.POSITIVE_INFINITY })
    .map(({ text: part }) => part)
    .join("");
}
