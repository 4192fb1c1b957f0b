import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import type { RecordedEntries } from "../api/history.ts";
import { get, messageOf, send } from "../api/http.ts";
import { hasRole } from "../api/session.ts";
import { go } from "../page/route.ts";
import { ForeignBlock } from "../parts/foreign.tsx";
import { Json } from "../parts/json.tsx";
import { useLoaded } from "../parts/loader.ts";
import { Problem } from "../parts/problem.tsx";

/** Shows the entries of a recorded call. An admin can have it decided on, or run, again. */
export function RecordPanel({ seq }: { readonly seq: string }): JSX.Element {
  const path = `/v1/journal/calls/${encodeURIComponent(seq)}`;
  const { value, problem } = useLoaded(seq, () => get<RecordedEntries>(path));
  const result = useSignal<unknown>(undefined);
  const repeatProblem = useSignal("");
  const isBusy = useSignal(false);
  const repeat = async (dryRun: boolean): Promise<void> => {
    isBusy.value = true;
    result.value = undefined;
    repeatProblem.value = "";
    try {
      result.value = await send<unknown>("POST", `${path}/repeat`, { dryRun });
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

function Entries({ entries }: { readonly entries: RecordedEntries }): JSX.Element {
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
