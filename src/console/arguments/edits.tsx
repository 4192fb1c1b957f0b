import type { JSX } from "preact";
import { Escaped } from "../parts/foreign.tsx";
import { count } from "../parts/format.ts";
import type { Replacement } from "./fields.ts";
import { type DiffLine, type Hunk, hunksOf, lineDiff, oddHunks } from "./line-diff.ts";

/** The unchanged lines around a change that are shown, and the unchanged characters beside a change in a long line. */
const CONTEXT_LINES = 3;
const CONTEXT_CHARS = 120;

const KINDS = { "+": "added", "-": "removed", " ": "" } as const;

/** Shows what replacements change, as differences. A change that differs from most is also shown above them. */
export function Edits({
  edits,
  name,
}: {
  readonly edits: readonly Replacement[];
  readonly name: string;
}): JSX.Element {
  const diffs = edits.map(({ before, after }) => lineDiff(before, after));
  const hunks = diffs.map((lines) => hunksOf(lines));
  const odd = oddHunks(hunks.flat());
  const all = diffs.flat();
  const amount = (sign: string): number => all.filter((line) => line.sign === sign).length;
  return (
    <>
      <p class="quiet">
        {count(edits.length, "replacement")}: {count(amount("-"), "line")} removed, {amount("+")} added
      </p>
      {odd.length > 0 && <OddHunks odd={odd} of={hunks.flat().length} />}
      {diffs.map((lines, at) => (
        <section
          key={at}
          class="block diff edit"
          aria-label={
            edits.length === 1 ? `Difference of ${name}` : `Difference ${at + 1} of ${edits.length}`
          }
          tabIndex={0}
        >
          {edits[at]?.rest.map(({ name: member, value }) => (
            <p key={member}>
              <strong>
                <Escaped text={`${member}: ${JSON.stringify(value)}`} keepsLines={false} />
              </strong>
            </p>
          ))}
          <pre>
            <Lines lines={lines} odd={odd.filter((hunk) => hunks[at]?.includes(hunk))} />
          </pre>
        </section>
      ))}
    </>
  );
}

function OddHunks({ odd, of }: { readonly odd: readonly Hunk[]; readonly of: number }): JSX.Element {
  return (
    <section class="notices" aria-label="Changes unlike the others" tabIndex={0}>
      <p>
        <strong>
          {odd.length === 1 ? "1 change is" : `${odd.length} changes are`} unlike the other {of - odd.length}:
        </strong>
      </p>
      <pre class="diff">
        {odd.map(({ lines, at }) => (
          <Lines key={at} lines={lines} odd={[]} />
        ))}
      </pre>
    </section>
  );
}

function Lines({
  lines,
  odd,
}: {
  readonly lines: readonly DiffLine[];
  readonly odd: readonly Hunk[];
}): JSX.Element {
  const near = new Set<number>();
  for (const [at, { sign }] of lines.entries()) {
    if (sign === " ") continue;
    for (let by = -CONTEXT_LINES; by <= CONTEXT_LINES; by++) near.add(at + by);
  }
  const isOdd = (at: number): boolean =>
    odd.some((hunk) => at >= hunk.at && at < hunk.at + hunk.lines.length);
  const shown: JSX.Element[] = [];
  let skipped = 0;
  for (const [at, line] of lines.entries()) {
    if (!near.has(at)) {
      skipped++;
      continue;
    }
    if (skipped > 0) shown.push(<Gap key={`gap ${at}`} lines={skipped} />);
    skipped = 0;
    shown.push(<Line key={at} line={line} isOdd={isOdd(at)} />);
  }
  if (skipped > 0) shown.push(<Gap key="gap" lines={skipped} />);
  return <>{shown}</>;
}

function Gap({ lines }: { readonly lines: number }): JSX.Element {
  return <span class="line hunk">{`⟦${count(lines, "unchanged line")}⟧\n`}</span>;
}

function Line({ line, isOdd }: { readonly line: DiffLine; readonly isOdd: boolean }): JSX.Element {
  const { sign, text, changed } = line;
  const [from, to] = changed ?? [0, 0];
  const unchanged = changed === undefined && sign === " ";
  return (
    <bdi class={`line foreign ${KINDS[sign]}${isOdd ? " odd" : ""}`}>
      {sign}
      {changed === undefined ? (
        unchanged ? (
          <Cut text={text} side="after" />
        ) : (
          <Escaped text={text} keepsLines={false} />
        )
      ) : (
        <>
          <Cut text={text.slice(0, from)} side="before" />
          <mark>
            <Escaped text={text.slice(from, to)} keepsLines={false} />
          </mark>
          <Cut text={text.slice(to)} side="after" />
        </>
      )}
      {"\n"}
    </bdi>
  );
}

/** An unchanged part of a line: of a long one, what is beside the change. */
function Cut({ text, side }: { readonly text: string; readonly side: "before" | "after" }): JSX.Element {
  const excess = text.length - CONTEXT_CHARS * 2;
  if (excess <= 0) return <Escaped text={text} keepsLines={false} />;
  const note = <span class="note">{`⟦${count(excess, "unchanged character")}⟧`}</span>;
  return side === "before" ? (
    <>
      {note}
      <Escaped text={text.slice(excess)} keepsLines={false} />
    </>
  ) : (
    <>
      <Escaped text={text.slice(0, -excess)} keepsLines={false} />
      {note}
    </>
  );
}
