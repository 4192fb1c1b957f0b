import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import type { JournalInfo } from "../api/history.ts";
import { get } from "../api/http.ts";
import { hasRole, server } from "../api/session.ts";
import { useKeys } from "../page/keys.ts";
import { listKeys } from "../page/list-keys.ts";
import { go, hashOf, route } from "../page/route.ts";
import { Badge } from "../parts/badge.tsx";
import { Foreign } from "../parts/foreign.tsx";
import { duration, time } from "../parts/format.ts";
import { brief } from "../parts/json.tsx";
import { useLoaded } from "../parts/loader.ts";
import { Problem } from "../parts/problem.tsx";
import { Titles } from "../parts/titles.tsx";
import { type JournalFilter, useJournalList } from "./journal-list.ts";
import { PolicyDiffForm } from "./policy-diff.tsx";
import { RecordPanel } from "./record-panel.tsx";
import { Verification } from "./verification.tsx";

/** What the journal recorded. */
export function HistoryView(): JSX.Element {
  if (server.value?.journal === false) {
    return (
      <>
        <h1>History</h1>
        <p class="empty">
          This server keeps no journal. Set <code>journal</code> in <code>sandgate.yaml</code> to record
          calls.
        </p>
      </>
    );
  }
  return <Journal />;
}

function Journal(): JSX.Element {
  const filter = useSignal<JournalFilter>({ tool: "", session: "", code: "" });
  const { calls, problem, hasMore, loadOlder } = useJournalList(filter.value);
  const { id } = route.value;
  useKeys({
    ...listKeys("history", id, () => calls.value.map(({ seq }) => String(seq))),
    Escape: () => go("history"),
  });
  return (
    <div class={id === "" ? "split" : "split open"}>
      <section class="list scrolling" aria-labelledby="history-title" tabIndex={0}>
        <div class="title">
          <h1 id="history-title">History</h1>
          <JournalState />
          <form
            class="filters"
            role="search"
            aria-label="Filter records"
            onSubmit={(event) => event.preventDefault()}
          >
            {(["tool", "session", "code"] as const).map((name) => (
              <label key={name}>
                {name}
                <input
                  type="search"
                  spellcheck={false}
                  autoComplete="off"
                  onChange={({ currentTarget }) => {
                    filter.value = { ...filter.value, [name]: currentTarget.value };
                  }}
                />
              </label>
            ))}
          </form>
        </div>
        <Verification />
        {hasRole("admin") && <PolicyDiffForm />}
        <Problem of={problem} />
        <table class="wide">
          <Titles of={["At", "Tool", "Session", "Decision", "Code", "Effect", "Took"]} />
          <tbody>
            {calls.value.map((call) => (
              <tr key={call.seq} {...(String(call.seq) === id && { class: "selected" })}>
                <td>{time(call.at)}</td>
                <td>
                  <a href={hashOf("history", String(call.seq))}>
                    <Foreign text={call.toolName} />
                  </a>
                </td>
                <td>
                  <Foreign text={call.sessionId ?? ""} />
                </td>
                <td>
                  <Badge word={brief(call.decision)} />
                </td>
                <td>
                  <Foreign text={call.code ?? ""} />
                </td>
                <td>
                  <Foreign text={call.effect ?? ""} />
                </td>
                <td class="number">{duration(call.durationMs)}</td>
              </tr>
            ))}
          </tbody>
        </table>
        {hasMore && (
          <button type="button" onClick={loadOlder}>
            Load older records
          </button>
        )}
      </section>
      {id !== "" && <RecordPanel key={id} seq={id} />}
    </div>
  );
}

function JournalState(): JSX.Element {
  const { value } = useLoaded("journal", () => get<JournalInfo>("/v1/journal"));
  const info = value.value;
  if (info === undefined) return <p />;
  return (
    <p>
      <Foreign text={brief(info.health)} />
      {info.entries !== undefined && ` · ${info.entries.toLocaleString("en-US")} entries`}
      {info.lastAt !== undefined && ` · last at ${time(info.lastAt)}`}
    </p>
  );
}
