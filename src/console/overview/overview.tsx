import type { JSX } from "preact";
import { useEffect } from "preact/hooks";
import type { Counts, OverviewNumbers, RecordedOverview } from "../../shapes/journal.ts";
import { RANGES, type Range, readOverview } from "../api/requests.ts";
import { hashOf, type RouteQuery, route, type View } from "../page/route.ts";
import { Titles } from "../parts/badges.tsx";
import { time } from "../parts/format.ts";
import { Problem, useLoaded } from "../parts/loaded.tsx";
import { NumberLists, ServerList } from "./number-lists.tsx";

/** How often the numbers are read again, and how often while they are not complete. */
const RELOAD_MS = 15_000;
const SOON_MS = 1_500;

/** The numbers of a range of time, and the current state of the server. */
export function Overview(): JSX.Element {
  const { query } = route.value;
  const range = (Object.keys(RANGES) as Range[]).find((each) => each === query["range"]) ?? "day";
  const { value, problem, reload } = useLoaded(range, () => readOverview(range));
  const numbers = value.value;
  const isComplete = numbers?.recorded?.isComplete ?? true;
  useEffect(() => {
    const again = (): void => {
      if (!document.hidden) void reload();
    };
    const timer = setInterval(again, isComplete ? RELOAD_MS : SOON_MS);
    return () => clearInterval(timer);
  }, [range, isComplete]);
  return (
    <section class="list scrolling overview" aria-labelledby="overview-title" tabIndex={0}>
      <div class="title">
        <h1 id="overview-title">Overview</h1>
        <Ranges current={range} />
      </div>
      <Problem of={problem} />
      {numbers !== undefined && <Numbers numbers={numbers} />}
    </section>
  );
}

function Ranges({ current }: { readonly current: Range }): JSX.Element {
  return (
    <nav class="ranges" aria-label="Range of time">
      <ul>
        {Object.entries(RANGES).map(([range, title]) => (
          <li key={range}>
            <a
              href={hashOf("overview", "", { range })}
              {...(range === current && { "aria-current": "true" as const })}
            >
              {title}
            </a>
          </li>
        ))}
      </ul>
    </nav>
  );
}

function Numbers({ numbers }: { readonly numbers: OverviewNumbers }): JSX.Element {
  const { sessions, mcpServers, recorded } = numbers;
  const inRange = (query: RouteQuery): RouteQuery => ({ ...query, since: String(recorded?.from ?? 0) });
  return (
    <>
      {recorded?.isComplete === false && (
        <p class="notice" role="status">
          The journal is being read: the numbers are not complete yet.
        </p>
      )}
      <dl class="amounts">
        {recorded !== undefined && (
          <>
            <Amount title="Calls" of={recorded.total.calls} query={inRange({})} />
            <Amount title="Denied" of={recorded.total.denied} query={inRange({ outcome: "denied" })} />
            <Amount title="Failed" of={recorded.total.failed} query={inRange({ outcome: "failed" })} />
            <Amount title="Asked a person" of={recorded.total.asked} query={inRange({ answer: "any" })} />
          </>
        )}
        <Amount title="Waiting now" of={sessions.waiting} view="waiting" />
        <Amount title="Running now" of={sessions.running} view="live" />
        <Amount title="Open sessions" of={sessions.open} view="sessions" />
        {recorded !== undefined && <Amount title="New sessions" of={recorded.total.sessions} />}
      </dl>
      {recorded === undefined ? (
        <p class="empty">
          This server keeps no journal. Set <code>journal</code> in <code>sandgate.yaml</code> to see what
          happened.
        </p>
      ) : (
        <CallsChart recorded={recorded} />
      )}
      <div class="lists">
        {recorded !== undefined && <NumberLists recorded={recorded} inRange={inRange} />}
        <ServerList servers={mcpServers} />
      </div>
    </>
  );
}

/** A number with its title. It leads to a view, or to the calls that a query finds. */
function Amount({
  title,
  of,
  view,
  query,
}: {
  readonly title: string;
  readonly of: number;
  readonly view?: View;
  readonly query?: RouteQuery;
}): JSX.Element {
  const text = of.toLocaleString("en-US");
  const leads = view !== undefined || query !== undefined;
  return (
    <div>
      <dt>{title}</dt>
      <dd>{leads ? <a href={hashOf(view ?? "history", "", query ?? {})}>{text}</a> : text}</dd>
    </div>
  );
}

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
function CallsChart({ recorded }: { readonly recorded: RecordedOverview }): JSX.Element {
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
