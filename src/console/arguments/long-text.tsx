import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useContext, useLayoutEffect } from "preact/hooks";
import { Escaped } from "../parts/foreign.tsx";
import { count } from "../parts/format.ts";
import { FoldingContext } from "./folding.ts";

/** A longer text is folded: its beginning and its end are shown. */
const MAX_CHARS = 4_000;
const MAX_LINES = 60;
const [FIRST, LAST] = [1_200, 600];
const [FIRST_LINES, LAST_LINES] = [20, 10];

/** Shows a text of several lines with its line breaks. A long one is folded, and says how much of it is not shown. */
export function LongText({ text, name }: { readonly text: string; readonly name: string }): JSX.Element {
  const folding = useContext(FoldingContext);
  const isOpen = useSignal(false);
  const { head, tail, hidden } = fold(text);
  const isFolded = hidden !== "" && !isOpen.value && !folding.isOpen.value;
  useLayoutEffect(() => {
    folding.set(name, isFolded ? hidden.length : 0);
    return () => folding.set(name, 0);
  }, [isFolded, hidden, name]);
  return (
    <section class="block text" aria-label={name} tabIndex={0}>
      <pre>
        <bdi class="foreign">
          <Escaped text={isFolded ? head : text} />
        </bdi>
        {isFolded && (
          <>
            <button
              type="button"
              class="fold"
              onClick={() => {
                isOpen.value = true;
              }}
            >
              Show {count(hidden.split("\n").length, "folded line")}, {count(hidden.length, "character")} (o)
            </button>
            <bdi class="foreign">
              <Escaped text={tail} />
            </bdi>
          </>
        )}
      </pre>
    </section>
  );
}

function fold(text: string): { readonly head: string; readonly tail: string; readonly hidden: string } {
  const lines = text.split("\n");
  if (text.length <= MAX_CHARS && lines.length <= MAX_LINES) return { head: text, tail: "", hidden: "" };
  const head = lines.slice(0, FIRST_LINES).join("\n").slice(0, FIRST);
  const tail = lines
    .slice(Math.max(FIRST_LINES, lines.length - LAST_LINES))
    .join("\n")
    .slice(-LAST);
  const end = Math.max(head.length, text.length - tail.length);
  return { head, tail: text.slice(end), hidden: text.slice(head.length, end) };
}
