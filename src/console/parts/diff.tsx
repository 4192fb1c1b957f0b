import type { JSX } from "preact";
import { diffLineKinds } from "./diff-lines.ts";
import { visible } from "./foreign.tsx";

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
