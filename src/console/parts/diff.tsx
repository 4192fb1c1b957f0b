import type { JSX } from "preact";
import { visible } from "./foreign.tsx";

const KINDS: Readonly<Record<string, string>> = { "+": "added", "-": "removed", "@": "hunk" };

/** Shows a unified diff. The sign of each line stays in the text: colour alone says nothing. */
export function Diff({ text, label }: { readonly text: string; readonly label: string }): JSX.Element {
  const lines = text.replace(/\n$/, "").split("\n");
  return (
    <section class="block diff" aria-label={label} tabIndex={0}>
      <pre>
        {lines.map((line, at) => (
          <bdi key={at} class={`line foreign ${isHeader(line) ? "header" : (KINDS[line.charAt(0)] ?? "")}`}>
            {`${visible(line)}\n`}
          </bdi>
        ))}
      </pre>
    </section>
  );
}

function isHeader(line: string): boolean {
  return line.startsWith("+++ ") || line.startsWith("--- ");
}
