import { type Signal, useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect } from "preact/hooks";
import type { Input } from "../shapes/client.ts";
import type { ListedCall, RecordedCall, RecordedCalls } from "../shapes/journal.ts";
import { get, messageOf, send } from "./api/http.ts";
import { hasRole, server } from "./api/session.ts";
import { listKeys, useKeys } from "./page/keys.ts";
import { go, hashOf, type RouteQuery, route } from "./page/route.ts";
import { Badge, Titles } from "./parts/badges.tsx";
import { brief, Foreign, ForeignBlock, Json, visible } from "./parts/foreign.tsx";
import { duration, time } from "./parts/format.ts";
import { Problem, useLoaded } from "./parts/loaded.tsx";
import { PolicyDiffForm } from "./policy-diff.tsx";

/** The recorded calls that were read, the newest first. */
interface JournalList {
  readonly calls: Signal<readonly ListedCall[]>;
  readonly problem: Signal<string>;
  /** Whether there are older ones. */
  readonly hasMore: boolean;
  readonly loadOlder: () => Promise<void>;
}

/** Which records are read. The server checks the values, which can be from an address. */
type RecordFilter = NonNullable<Input<"GET /v1/journal/calls">["query"]>;

/** Maximum number of pages that are read on for the first call, if a filter matches few of them. */
const MAX_EMPTY_PAGES = 25;

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
  const { id, query } = route.value;
  const { calls, problem, hasMore, loadOlder } = useJournalList(filterIn(query));
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
          <HistoryFilters />
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
  const { value } = useLoaded("journal", () => get("GET /v1/journal"));
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

/** Asks the server to verify its journal, and shows the report. */
function Verification(): JSX.Element | null {
  const report = useSignal<unknown>(undefined);
  const problem = useSignal("");
  const isBusy = useSignal(false);
  if (!hasRole("admin", "reader")) return null;
  const verify = async (): Promise<void> => {
    isBusy.value = true;
    report.value = undefined;
    problem.value = "";
    try {
      report.value = await send("POST /v1/journal/verification");
    } catch (error) {
      problem.value = messageOf(error);
    }
    isBusy.value = false;
  };
  return (
    <div>
      <button type="button" onClick={verify} disabled={isBusy}>
        {isBusy.value ? "Verifying…" : "Verify the journal"}
      </button>
      <Problem of={problem} />
      <div role="status">
        {report.value !== undefined && <Json value={report.value} label="Report of the verification" />}
      </div>
    </div>
  );
}

/**
 * Reads recorded calls, and reads them again when the filter changes.
 *
 * @param filter The parameters of the API.
 */
function useJournalList(filter: RouteQuery): JournalList {
  const calls = useSignal<readonly ListedCall[]>([]);
  const next = useSignal<number | undefined>(undefined);
  const problem = useSignal("");
  const latest = useSignal(0);
  const load = async (before: number | undefined): Promise<void> => {
    const own = latest.peek() + 1;
    latest.value = own;
    try {
      let page: RecordedCalls = { calls: [], ...(before !== undefined && { next: before }) };
      for (let read = 0; read < MAX_EMPTY_PAGES; read++) {
        page = await get("GET /v1/journal/calls", {
          query: { ...(filter as RecordFilter), before: page.next, limit: 100 },
        });
        if (latest.peek() !== own) return;
        if (page.calls.length > 0 || page.next === undefined) break;
      }
      calls.value = before === undefined ? page.calls : [...calls.peek(), ...page.calls];
      next.value = page.next;
      problem.value = "";
    } catch (error) {
      if (latest.peek() === own) problem.value = messageOf(error);
    }
  };
  useEffect(() => {
    void load(undefined);
  }, [JSON.stringify(filter)]);
  return {
    calls,
    problem,
    hasMore: next.value !== undefined,
    loadOlder: () => load(next.peek()),
  };
}

/** Shows the entries of a recorded call. An admin can have it decided on, or run, again. */
function RecordPanel({ seq }: { readonly seq: string }): JSX.Element {
  const params = { seq };
  const { value, problem } = useLoaded(seq, () => get("GET /v1/journal/calls/:seq", { params }));
  const result = useSignal<unknown>(undefined);
  const repeatProblem = useSignal("");
  const isBusy = useSignal(false);
  const repeat = async (dryRun: boolean): Promise<void> => {
    isBusy.value = true;
    result.value = undefined;
    repeatProblem.value = "";
    try {
      result.value = await send("POST /v1/journal/calls/:seq/repeat", { params, body: { dryRun } });
    } catch (error) {
      repeatProblem.value = messageOf(error);
    }
    isBusy.value = false;
  };
  return (
    <aside class="panel" aria-label="Record">
      <div class="title">
        <h2>Record {seq}</h2>
        <button type="button" onClick={() => go("history")}>
          Close
        </button>
      </div>
      <Problem of={problem} />
      {value.value !== undefined && <Entries entries={value.value} />}
      {value.value !== undefined && hasRole("admin") && (
        <p class="buttons">
          <button type="button" disabled={isBusy} onClick={() => repeat(true)}>
            Decide again (dry run)
          </button>
          <button type="button" disabled={isBusy} onClick={() => repeat(false)}>
            Run again
          </button>
        </p>
      )}
      <Problem of={repeatProblem} />
      {result.value !== undefined && <Json value={result.value} label="Result of the repetition" />}
    </aside>
  );
}

function Entries({ entries }: { readonly entries: RecordedCall }): JSX.Element {
  const { begin, end } = entries;
  return (
    <>
      {entries.arguments !== undefined && (
        <>
          <h3>Arguments</h3>
          <ForeignBlock text={entries.arguments} label="Arguments" />
        </>
      )}
      <h3>Beginning</h3>
      <Json value={begin} label="Beginning" />
      {end !== undefined && (
        <>
          <h3>End</h3>
          <Json value={end} label="End" />
        </>
      )}
    </>
  );
}

const OUTCOMES = ["completed", "denied", "failed", "aborted"];

/** The texts of filters without a field, which the overview sets. */
const SHOWN: Readonly<Record<string, (text: string) => string>> = {
  rule: (text) => `rule ${text}`,
  ruled: (text) => (text === "true" ? "a rule decided" : "no rule decided"),
  sandbox: (text) => `sandbox ${text}`,
  reached: (text) => `reached ${text}`,
  answeredBy: (text) => `answered by ${text}`,
  answer: (text) => ANSWERS[text] ?? text,
  since: (text) => `from ${time(Number(text))}`,
  until: (text) => `before ${time(Number(text))}`,
};

const ANSWERS: Readonly<Record<string, string>> = {
  any: "a person was asked",
  allow: "a person allowed it",
  deny: "a person denied it",
  quick: "allowed within 2 s",
};

/** The parameters of the API among those of the address. */
function filterIn(query: RouteQuery): RouteQuery {
  const names = ["tool", "session", "code", "outcome", ...Object.keys(SHOWN)];
  return Object.fromEntries(Object.entries(query).filter(([name]) => names.includes(name)));
}

/** The fields that say which records are listed. The address has them, so that a link leads to what it says. */
function HistoryFilters(): JSX.Element {
  const { id, query } = route.value;
  const set = (name: string, text: string): void => go("history", id, { ...query, [name]: text });
  const chips = Object.entries(filterIn(query)).filter(([name]) => name in SHOWN);
  return (
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
            value={query[name] ?? ""}
            onChange={({ currentTarget }) => set(name, currentTarget.value)}
          />
        </label>
      ))}
      <label>
        outcome
        <select
          value={query["outcome"] ?? ""}
          onChange={({ currentTarget }) => set("outcome", currentTarget.value)}
        >
          <option value="">any</option>
          {OUTCOMES.map((outcome) => (
            <option key={outcome}>{outcome}</option>
          ))}
        </select>
      </label>
      {chips.map(([name, text]) => {
        const shown = SHOWN[name]?.(text) ?? text;
        return (
          <button
            key={name}
            type="button"
            aria-label={`Remove the filter: ${visible(shown)}`}
            onClick={() => set(name, "")}
          >
            <Foreign text={shown} />
            <span aria-hidden="true"> ✕</span>
          </button>
        );
      })}
    </form>
  );
}
