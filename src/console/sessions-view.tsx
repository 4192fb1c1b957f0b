import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { get, messageOf, send } from "./api/http.ts";
import { readSessions } from "./api/requests.ts";
import { hasRole } from "./api/session.ts";
import { filter } from "./live/filters.tsx";
import { listKeys, useKeys } from "./page/keys.ts";
import { go, hashOf, route } from "./page/route.ts";
import { Titles } from "./parts/badges.tsx";
import { brief, Foreign } from "./parts/foreign.tsx";
import { printableLine, time } from "./parts/format.ts";
import { Problem, useLoaded } from "./parts/loaded.tsx";

const TITLES = [
  "Session",
  "Opened",
  "Principal",
  "Kind",
  "Mode",
  "Above",
  "Running",
  "Confirmations",
  "Changes",
];

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
                    <Foreign text={session.name ?? session.id} />
                  </a>
                </td>
                <td>{time(session.openedAt)}</td>
                <td>
                  <Foreign text={session.principal?.id ?? ""} />
                </td>
                <td>{session.kind}</td>
                <td class="word">
                  <Foreign text={brief(session.mode)} />
                </td>
                <td>
                  <Foreign text={session.parent ?? ""} />
                </td>
                <td class="number">{session.runningCalls}</td>
                <td class="number">{session.openConfirmations}</td>
                <td class="number">
                  {session.stagedChanges > 0 ? (
                    <a href={hashOf("changes", session.id)}>{session.stagedChanges}</a>
                  ) : (
                    session.stagedChanges
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

/** Leads to the calls and changes of a session, and lists what approvers had it remember. An approver revokes that. */
function SessionPanel({ session }: { readonly session: string }): JSX.Element {
  const params = { id: session };
  const { value, problem, reload } = useLoaded(session, () =>
    get("GET /v1/sessions/:id/approvals", { params }),
  );
  const failure = useSignal("");
  const approvals = value.value?.approvals;
  const revoke = async (id: string): Promise<void> => {
    failure.value = "";
    try {
      await send("DELETE /v1/sessions/:id/approvals/:approvalId", { params: { ...params, approvalId: id } });
    } catch (error) {
      failure.value = messageOf(error);
    }
    await reload();
  };
  const showCalls = (): void => {
    filter.value = { session, tool: "", state: "", code: "" };
    go("live");
  };
  return (
    <aside class="panel" aria-label="Session">
      <div class="title">
        <h2>
          <Foreign text={session} />
        </h2>
        <button type="button" onClick={() => go("sessions")}>
          Close
        </button>
      </div>
      <p class="buttons">
        <button type="button" onClick={showCalls}>
          Show its calls
        </button>
        <a href={hashOf("changes", session)}>Show its changes</a>
      </p>
      <h3>Approvals</h3>
      <Problem of={problem} />
      <Problem of={failure} />
      {approvals?.length === 0 && <p class="empty">No answer is remembered.</p>}
      <ul class="rules" aria-label="Approvals">
        {approvals?.map((approval) => (
          <li key={approval.id}>
            <Foreign text={printableLine(approval.tools.join(", "))} />
            {approval.when !== undefined && (
              <p>
                when <Foreign text={printableLine(JSON.stringify(approval.when))} />
              </p>
            )}
            <p class="quiet">
              by <Foreign text={approval.by} />
              {approval.at !== undefined && ` at ${time(approval.at)}`}
              {approval.expiresAt !== undefined && `, until ${time(approval.expiresAt)}`}
              {approval.calls !== undefined && `, used for ${approval.used} of ${approval.calls} calls`}
            </p>
            {hasRole("approver") && (
              <button type="button" onClick={() => revoke(approval.id)}>
                Revoke
              </button>
            )}
          </li>
        ))}
      </ul>
    </aside>
  );
}
