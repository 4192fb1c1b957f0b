import type { JSX } from "preact";
import { useEffect } from "preact/hooks";
import type { OverviewNumbers } from "../../shapes/journal.ts";
import { RANGES, type Range, readOverview } from "../api/requests.ts";
import { hashOf, type RouteQuery, route, type View } from "../page/route.ts";
import { Problem, useLoaded } from "../parts/loaded.tsx";
import { CallsChart } from "./calls-chart.tsx";
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
