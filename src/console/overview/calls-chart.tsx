import type { JSX } from "preact";
import type { Counts, RecordedOverview } from "../../shapes/journal.ts";
import { hashOf, type RouteQuery } from "../page/route.ts";
import { Titles } from "../parts/badges.tsx";
import { time } from "../parts/format.ts";

/** The size of the chart in its own units: it is as wide as the page. */
const WIDTH = 960;
const HEIGHT = 120;
/** The lowest bar of a step that has calls. */
const LOWEST = 2;

/** The parts of the bar of a step, from the bottom. */
const PARTS = [
  { name: "ran", of: ({ calls, denied, failed }: Counts) => Math.max(0, calls - denied - failed) },
  { name: "failed", of: ({ failed }: Counts) => failed },
  { name: "denied", of: ({ denied }: Counts) => denied },
] as const;

/** Draws the calls of each step as a bar, and has them in a table. A bar and a number lead to their calls. */
export function CallsChart({ recorded }: { readonly recorded: RecordedOverview }): JSX.Element {
  const { from, to, stepMs, steps } = recorded;
  const most = Math.max(1, ...steps.map(heightOf));
  return (
    <figure class="chart" aria-label="Calls over time">
      <figcaption>
        <span>Calls over time</span>
        {PARTS.map(({ name }) => (
          <span key={name} class="key">
            <span class={`mark ${name}`} />
            {name}
          </span>
        ))}
        <span class="key">
          <span class="mark asked" />
          asked a person
        </span>
      </figcaption>
      <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" aria-hidden="true">
        {steps.map((step, at) => (
          <Bar key={from + at * stepMs} step={step} at={at} recorded={recorded} most={most} />
        ))}
      </svg>
      <p class="axis">
        <span>{time(from)}</span>
        <span>
          up to {most.toLocaleString("en-US")} calls in {lengthOf(stepMs)}
        </span>
        <span>{time(to)}</span>
      </p>
      <details>
        <summary>Calls over time as a table</summary>
        <StepTable recorded={recorded} />
      </details>
    </figure>
  );
}

function Bar({
  step,
  at,
  recorded: { from, stepMs, steps },
  most,
}: {
  readonly step: Counts;
  readonly at: number;
  readonly recorded: RecordedOverview;
  readonly most: number;
}): JSX.Element | null {
  if (heightOf(step) === 0 && step.asked === 0) return null;
  const width = WIDTH / steps.length;
  const scale = (calls: number): number =>
    calls === 0 ? 0 : Math.max(LOWEST, (calls / most) * (HEIGHT - 8));
  let top = HEIGHT - 8;
  return (
    // The table has the same links for the keyboard.
    <a href={hashOf("history", "", stepOf(from + at * stepMs, stepMs))} tabindex={-1}>
      <rect class="space" x={at * width} y={0} width={width} height={HEIGHT} />
      {PARTS.map(({ name, of }) => {
        const height = scale(of(step));
        top -= height;
        return <rect key={name} class={name} x={at * width + 1} y={top} width={width - 2} height={height} />;
      })}
      {step.asked > 0 && (
        <rect class="asked" x={at * width + 1} y={HEIGHT - 5} width={width - 2} height={5} />
      )}
    </a>
  );
}

function StepTable({
  recorded: { from, stepMs, steps },
}: {
  readonly recorded: RecordedOverview;
}): JSX.Element {
  const filled = steps
    .map((step, at) => ({ step, at: from + at * stepMs }))
    .filter(({ step }) => heightOf(step) > 0 || step.asked > 0);
  return (
    <table>
      <Titles of={["From", "Calls", "Denied", "Failed", "Asked a person"]} />
      <tbody>
        {filled.map(({ step, at }) => (
          <tr key={at}>
            <td>{time(at)}</td>
            <td class="number">
              <a href={hashOf("history", "", stepOf(at, stepMs))}>{step.calls}</a>
            </td>
            <td class="number">
              <a href={hashOf("history", "", stepOf(at, stepMs, { outcome: "denied" }))}>{step.denied}</a>
            </td>
            <td class="number">
              <a href={hashOf("history", "", stepOf(at, stepMs, { outcome: "failed" }))}>{step.failed}</a>
            </td>
            <td class="number">
              <a href={hashOf("history", "", stepOf(at, stepMs, { answer: "any" }))}>{step.asked}</a>
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** A call that fails is counted as it ends, perhaps in a later step than the one in which it began. */
function heightOf({ calls, denied, failed }: Counts): number {
  return Math.max(calls, denied + failed);
}

/** The query that finds the calls of a step. */
function stepOf(at: number, stepMs: number, query: RouteQuery = {}): RouteQuery {
  return { ...query, since: String(at), until: String(at + stepMs) };
}

function lengthOf(stepMs: number): string {
  const minutes = stepMs / 60_000;
  if (minutes === 1) return "a minute";
  return minutes < 60 ? `${minutes} minutes` : `${minutes / 60} hours`;
}
