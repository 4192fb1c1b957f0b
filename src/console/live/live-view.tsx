import { useComputed, useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { useKeys } from "../page/keys.ts";
import { moveKeys } from "../page/list-keys.ts";
import { go, route } from "../page/route.ts";
import { count } from "../parts/format.ts";
import { Problem } from "../parts/problem.tsx";
import { VirtualRows } from "../parts/virtual-rows.tsx";
import { WhyPanel } from "../why/why-panel.tsx";
import { CallLine } from "./call-row.tsx";
import { callRows, isOpen } from "./call-rows.ts";
import { calls, callsProblem, findCalls, hasLoaded, loadOlderCalls } from "./calls.ts";
import { Filters, filter } from "./filters.tsx";
import { FirstSteps } from "./first-steps.tsx";
import { Legend } from "./waterfall.tsx";

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

/** The time in milliseconds since the epoch. It goes on once a second while calls run. */
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
