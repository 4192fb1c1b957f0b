import type { JSX } from "preact";
import { readSessions } from "../api/sessions.ts";
import { useKeys } from "../page/keys.ts";
import { listKeys } from "../page/list-keys.ts";
import { go, hashOf, route } from "../page/route.ts";
import { Foreign } from "../parts/foreign.tsx";
import { brief } from "../parts/json.tsx";
import { useLoaded } from "../parts/loader.ts";
import { Problem } from "../parts/problem.tsx";
import { Titles } from "../parts/titles.tsx";
import { SessionPanel } from "./session-panel.tsx";

const TITLES = ["Session", "Principal", "Kind", "Mode", "Above", "Running", "Inquiries", "Changes"];

/** The open sessions, the latest first. */
export function SessionsView(): JSX.Element {
  const { value, problem, reload } = useLoaded("sessions", readSessions);
  const { id } = route.value;
  const sessions = value.value ?? [];
  useKeys({
    ...listKeys("sessions", id, () => sessions.map((session) => session.id)),
    Escape: () => go("sessions"),
  });
  return (
    <div class={id === "" ? "split" : "split open"}>
      <section class="list scrolling" aria-labelledby="sessions-title" tabIndex={0}>
        <div class="title">
          <h1 id="sessions-title">Sessions</h1>
          <button type="button" onClick={reload}>
            Read again
          </button>
        </div>
        <Problem of={problem} />
        {value.value !== undefined && sessions.length === 0 && <p class="empty">No session is open.</p>}
        <table class="wide">
          <Titles of={TITLES} />
          <tbody>
            {sessions.map((session) => (
              <tr key={session.id} {...(session.id === id && { class: "selected" })}>
                <td>
                  <a href={hashOf("sessions", session.id)}>
                    <Foreign text={session.id} />
                  </a>
                </td>
                <td>
                  <Foreign text={session.principal?.id ?? ""} />
                </td>
                <td>{session.kind}</td>
                <td>
                  <Foreign text={brief(session.mode)} />
                </td>
                <td>
                  <Foreign text={session.parent ?? ""} />
                </td>
                <td class="number">{session.runningCalls}</td>
                <td class="number">{session.openInquiries}</td>
                <td class="number">
                  {session.heldChanges > 0 ? (
                    <a href={hashOf("changes", session.id)}>{session.heldChanges}</a>
                  ) : (
                    session.heldChanges
                  )}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </section>
      {id !== "" && <SessionPanel key={id} session={id} />}
    </div>
  );
}
