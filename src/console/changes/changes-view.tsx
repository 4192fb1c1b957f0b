import type { JSX } from "preact";
import { readSessions } from "../api/sessions.ts";
import { hashOf, route } from "../page/route.ts";
import { Foreign } from "../parts/foreign.tsx";
import { count } from "../parts/format.ts";
import { useLoaded } from "../parts/loader.ts";
import { Problem } from "../parts/problem.tsx";
import { HeldPanel } from "./held-panel.tsx";

/** The sessions that hold changes of files, and the changes of one of them. */
export function ChangesView(): JSX.Element {
  const { id } = route.value;
  const { value, problem, reload } = useLoaded("sessions", readSessions);
  const holding = (value.value ?? []).filter(({ heldChanges }) => heldChanges > 0);
  return (
    <div class={id === "" ? "split" : "split open wide"}>
      <section class="list scrolling" aria-labelledby="changes-title" tabIndex={0}>
        <div class="title">
          <h1 id="changes-title">Changes</h1>
          <button type="button" onClick={reload}>
            Read again
          </button>
        </div>
        <Problem of={problem} />
        {value.value !== undefined && holding.length === 0 && <p class="empty">No session holds changes.</p>}
        <ul class="cards" aria-label="Sessions that hold changes">
          {holding.map((session) => (
            <li key={session.id}>
              <a
                class="card"
                href={hashOf("changes", session.id)}
                {...(session.id === id && { "aria-current": "true" as const })}
              >
                <Foreign text={session.id} />
                <span class="quiet">{count(session.heldChanges, "change")}</span>
              </a>
            </li>
          ))}
        </ul>
      </section>
      {id !== "" && <HeldPanel key={id} session={id} onDecided={reload} />}
    </div>
  );
}
