import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { get, messageOf, send } from "../api/http.ts";
import { hasRole } from "../api/session.ts";
import type { Approval } from "../api/sessions.ts";
import { filter } from "../live/filters.tsx";
import { go, hashOf } from "../page/route.ts";
import { Foreign, printableLine } from "../parts/foreign.tsx";
import { time } from "../parts/format.ts";
import { useLoaded } from "../parts/loader.ts";
import { Problem } from "../parts/problem.tsx";

/** Leads to the calls and changes of a session, and lists what approvers had it remember. An approver revokes that. */
export function SessionPanel({ session }: { readonly session: string }): JSX.Element {
  const path = `/v1/sessions/${encodeURIComponent(session)}/approvals`;
  const { value, problem, reload } = useLoaded(session, () =>
    get<{ readonly approvals: readonly Approval[] }>(path),
  );
  const failure = useSignal("");
  const approvals = value.value?.approvals;
  const revoke = async (id: string): Promise<void> => {
    failure.value = "";
    try {
      await send("DELETE", `${path}/${encodeURIComponent(id)}`);
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
