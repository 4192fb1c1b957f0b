import { useComputed, useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { PHASES, shownState } from "../api/requests.ts";
import { server } from "../api/session.ts";
import { summaryLine } from "../arguments/fields.ts";
import { moveKeys, useKeys } from "../page/keys.ts";
import { go, hashOf, route } from "../page/route.ts";
import { Badge } from "../parts/badges.tsx";
import { Foreign } from "../parts/foreign.tsx";
import { clock, count, duration, time } from "../parts/format.ts";
import { Problem } from "../parts/loaded.tsx";
import { type CallRow, callRows, isOpen } from "./call-rows.ts";
import { calls, callsProblem, findCalls, hasLoaded, loadOlderCalls } from "./calls.ts";
import { Filters, filter } from "./filters.tsx";
import { WhyPanel } from "./why-panel.tsx";

/** The deepest indentation. Calls below are as far to the right. */
const MAX_INDENT = 12;

/** What {@link CallLine} shows. */
interface CallLineProps {
  readonly row: CallRow;
  /** Its number in the list, from 0 on. */
  readonly index: number;
  readonly isSelected: boolean;
  readonly now: number;
  readonly onOpen: () => void;
}

const COLUMNS = ["Began", "Tool", "Arguments", "Caller", "Session", "State", "Code", "Took", "Phases"];

/** Milliseconds after a key until the server is asked for the calls that match. */
const FIND_MS = 250;

/** What runs and what ran, the newest first. */
export function LiveView(): JSX.Element {
  const selected = useSignal(route.value.id);
  const now = useNow();
  const rows = useComputed(() => callRows(calls.value, filter.value, Date.now()));
  const move = (step: number): void => {
    const at = rows.value.findIndex(({ call }) => call.ref === selected.value);
    const next = rows.value[at < 0 ? 0 : at + step];
    if (next === undefined) return;
    selected.value = next.call.ref;
    if (route.value.id !== "") go("live", next.call.ref);
  };
  const open = (ref: string): void => {
    selected.value = ref;
    go("live", ref);
  };
  useEffect(() => {
    const timer = setTimeout(() => void findCalls(filter.value), FIND_MS);
    return () => clearTimeout(timer);
  }, [filter.value]);
  useKeys({
    ...moveKeys(move),
    Enter: () => {
      if (selected.value !== "") open(selected.value);
    },
    Escape: () => go("live"),
  });
  const { id } = route.value;
  const shown = rows.value;
  return (
    <div class={id === "" ? "split" : "split open"}>
      <section class="list" aria-labelledby="live-title">
        <div class="title">
          <h1 id="live-title">Live</h1>
          <p>{count(shown.length, "call")}</p>
          <Filters />
          <Legend />
        </div>
        <Problem of={callsProblem} />
        <div
          class="grid calls"
          role="treegrid"
          aria-label="Calls"
          aria-rowcount={shown.length + 1}
          tabIndex={0}
          {...(isInList(shown, selected.value) && { "aria-activedescendant": `call-${selected.value}` })}
        >
          <div class="row head" role="row" aria-rowindex={1}>
            {COLUMNS.map((name) => (
              <span key={name} role="columnheader">
                {name}
              </span>
            ))}
          </div>
          <VirtualRows
            rows={shown}
            keyOf={({ call }) => call.ref}
            selected={selected.value}
            onEnd={() => void loadOlderCalls()}
            render={(row, index) => (
              <CallLine
                key={row.call.ref}
                row={row}
                index={index}
                isSelected={row.call.ref === selected.value}
                now={now}
                onOpen={() => open(row.call.ref)}
              />
            )}
          />
        </div>
        {shown.length === 0 && calls.value.length > 0 && <p class="empty">No calls match.</p>}
        {hasLoaded.value && calls.value.length === 0 && <FirstSteps />}
      </section>
      {id !== "" && <WhyPanel callRef={id} state={calls.value.find(({ ref }) => ref === id)?.state} />}
    </div>
  );
}

function isInList(rows: ReturnType<typeof callRows>, ref: string): boolean {
  return ref !== "" && rows.some(({ call }) => call.ref === ref);
}

/** The time in milliseconds since the epoch. Updated every second while calls run. */
function useNow(): number {
  const [now, setNow] = useState(Date.now());
  useEffect(() => {
    const timer = setInterval(() => {
      if (calls.peek().some(isOpen)) setNow(Date.now());
    }, 1_000);
    return () => clearInterval(timer);
  }, []);
  return now;
}

/** Explains how calls get here, while the list is empty. */
function FirstSteps(): JSX.Element {
  return (
    <section class="first-steps" aria-labelledby="first-steps-title">
      <h2 id="first-steps-title">No calls yet</h2>
      <p>
        The server has {count(server.value?.tools ?? 0, "tool")}. A call appears here as soon as it begins.
      </p>
      <dl>
        <dt>
          <code>sandgate console message.json</code>
        </dt>
        <dd>
          opens the console, and makes the calls of an assistant message: <code>sandgate init</code> writes
          one
        </dd>
        <dt>
          <code>sandgate console --example</code>
        </dt>
        <dd>has calls to look at: one that ran, one that was denied, and one that waits for you</dd>
        <dt>
          <code>POST /v1/sessions</code>
        </dt>
        <dd>
          opens a session for an agent, with the token of a caller: see <code>docs/http-api.md</code>
        </dd>
      </dl>
    </section>
  );
}

/** A call in the list. The list handles the keys. */
function CallLine({ row, index, isSelected, now, onOpen }: CallLineProps): JSX.Element {
  const { call, depth } = row;
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the list has the focus, and handles the keys of its rows
    <div
      class={isSelected ? "row selected" : "row"}
      role="row"
      id={`call-${call.ref}`}
      aria-level={depth + 1}
      aria-rowindex={index + 2}
      aria-selected={isSelected}
      onClick={onOpen}
    >
      <span role="gridcell" class="at">
        {time(call.startedAt)}
      </span>
      <span role="gridcell" class="name">
        <span class="indent" style={{ width: `${Math.min(depth, MAX_INDENT) * 16}px` }} />
        {depth > 0 && <span aria-hidden="true">└ </span>}
        <Foreign text={call.toolName} />
      </span>
      <span role="gridcell" class="given">
        <Foreign text={call.summary === undefined ? "" : summaryLine(call.summary)} />
      </span>
      <span role="gridcell" class="caller">
        <Foreign text={call.principal?.id ?? ""} />
      </span>
      <span role="gridcell" class="session">
        {call.session !== undefined && <span class="quiet">{clock(call.session.openedAt)} </span>}
        <Foreign text={call.session?.name ?? shortId(call.sessionId)} />
      </span>
      <span role="gridcell" class="state">
        {call.requestId === undefined ? (
          <Badge word={shownState(call)} />
        ) : (
          <a href={hashOf("waiting", call.requestId)} onClick={(event) => event.stopPropagation()}>
            waiting
          </a>
        )}
      </span>
      <span role="gridcell" class="code">
        <Foreign text={call.code ?? call.decision ?? ""} />
      </span>
      <span role="gridcell" class="number took">
        {duration(call.durationMs)}
      </span>
      <span role="gridcell" class="phases">
        <Waterfall row={row} now={now} />
      </span>
    </div>
  );
}

/** Ids of sessions begin with their time: they differ at their ends. */
function shortId(id = ""): string {
  return id.length <= 12 ? id : `…${id.slice(-8)}`;
}

/** Draws the phases of a call, within the time of the outermost call above it. */
function Waterfall({ row, now }: { readonly row: CallRow; readonly now: number }): JSX.Element {
  const { call, from, span } = row;
  const start = call.startedAt - from;
  const percent = (ms: number): string => `${Math.min(100, Math.max(0, (ms / span) * 100))}%`;
  const length = call.durationMs ?? Math.max(0, now - call.startedAt);
  const said = call.phases
    .map(({ name, ms }) => `${name} ${ms === undefined ? "now" : duration(ms)}`)
    .join(", ");
  return (
    <span class="waterfall" role="img" aria-label={said === "" ? "no phases yet" : said}>
      <span class="whole" style={{ left: percent(start), width: percent(length) }} />
      {call.phases.map(({ name, at, ms = length - at }) => (
        <span
          key={`${name} ${at}`}
          class={`phase ${PHASES.includes(name) ? name : ""}`}
          style={{ left: percent(start + at), width: percent(ms) }}
        />
      ))}
    </span>
  );
}

/** Names the colours of the phases. */
function Legend(): JSX.Element {
  return (
    <ul class="legend" aria-label="Phases">
      {PHASES.map((name) => (
        <li key={name}>
          <span class={`phase ${name}`} aria-hidden="true" />
          {name}
        </li>
      ))}
    </ul>
  );
}

/** The height of a row in CSS pixels: the property `--row`, which depends on the width of the page. */
function readRowHeight(): number {
  return Number.parseInt(getComputedStyle(document.documentElement).getPropertyValue("--row"), 10);
}

/** The rows above and below the visible ones that are there already. */
const MARGIN = 8;

/** What {@link VirtualRows} shows. */
interface VirtualRowsProps<Row> {
  readonly rows: readonly Row[];
  readonly keyOf: (row: Row) => string;
  /** The row to keep in view. */
  readonly selected: string | undefined;
  /** Renders a row with a `key`, as high as the class `row` says. */
  readonly render: (row: Row, index: number) => JSX.Element;
  /** Is called when the last rows come into view. */
  readonly onEnd: () => void;
}

/**
 * Renders only the rows in view, so that ten thousand rows cost as much as fifty. When rows are inserted above the
 * ones in view, those stay where they are.
 */
function VirtualRows<Row>({ rows, keyOf, selected, render, onEnd }: VirtualRowsProps<Row>): JSX.Element {
  const box = useRef<HTMLDivElement>(null);
  const [top, setTop] = useState(0);
  const [height, setHeight] = useState(600);
  const [rowHeight, setRowHeight] = useState(readRowHeight);
  const anchor = useRef<{ key: string; index: number } | undefined>(undefined);

  useLayoutEffect(() => {
    const element = box.current;
    if (element === null) return;
    const observer = new ResizeObserver(() => {
      setHeight(element.clientHeight);
      setRowHeight(readRowHeight());
    });
    observer.observe(element);
    return () => observer.disconnect();
  }, []);

  useLayoutEffect(() => {
    const element = box.current;
    const before = anchor.current;
    if (element === null || before === undefined || element.scrollTop === 0) return;
    const moved = rows.findIndex((row) => keyOf(row) === before.key) - before.index;
    if (moved > 0) element.scrollTop += moved * rowHeight;
  }, [rows]);

  useLayoutEffect(() => {
    const element = box.current;
    const index = selected === undefined ? -1 : rows.findIndex((row) => keyOf(row) === selected);
    if (element === null || index < 0) return;
    const [start, end] = [index * rowHeight, (index + 1) * rowHeight];
    if (start < element.scrollTop) element.scrollTop = start;
    else if (end > element.scrollTop + element.clientHeight) element.scrollTop = end - element.clientHeight;
  }, [selected]);

  // Runs after the effects above, which compare with what was in view before.
  useLayoutEffect(() => {
    const index = Math.floor((box.current?.scrollTop ?? 0) / rowHeight);
    const inView = rows[index];
    anchor.current = inView === undefined ? undefined : { key: keyOf(inView), index };
  });

  const first = Math.max(0, Math.floor(top / rowHeight) - MARGIN);
  const last = Math.min(rows.length, Math.ceil((top + height) / rowHeight) + MARGIN);

  const onScroll = ({ currentTarget }: { readonly currentTarget: HTMLDivElement }): void => {
    setTop(currentTarget.scrollTop);
    if (currentTarget.scrollTop + currentTarget.clientHeight > (rows.length - MARGIN) * rowHeight) onEnd();
  };
  return (
    <div class="rows" role="rowgroup" ref={box} onScroll={onScroll} tabIndex={0}>
      <div class="above" role="presentation" style={{ height: `${first * rowHeight}px` }} />
      {rows.slice(first, last).map((row, at) => render(row, first + at))}
      <div class="below" role="presentation" style={{ height: `${(rows.length - last) * rowHeight}px` }} />
    </div>
  );
}
