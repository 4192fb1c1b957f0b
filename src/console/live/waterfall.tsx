import type { JSX } from "preact";
import { PHASES } from "../api/calls.ts";
import { duration } from "../parts/format.ts";
import type { CallRow } from "./call-rows.ts";

/** Draws when a call did what, within the time of the outermost call above it. */
export function Waterfall({ row, now }: { readonly row: CallRow; readonly now: number }): JSX.Element {
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
export function Legend(): JSX.Element {
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
