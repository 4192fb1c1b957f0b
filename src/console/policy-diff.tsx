import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import type { PolicyComparison } from "../shapes/journal.ts";
import { ApiError, messageOf, send } from "./api/http.ts";
import { hashOf } from "./page/route.ts";
import { Badge, Titles } from "./parts/badges.tsx";
import { Foreign } from "./parts/foreign.tsx";
import { count } from "./parts/format.ts";
import { Problem } from "./parts/loaded.tsx";

/** Maximum number of recorded calls that are decided on again. */
const MAX_LAST = 100_000;

/** Maximum number of problems of a policy that are shown. */
const MAX_PROBLEMS = 10;

/** Says on which recorded calls another policy would decide differently. */
export function PolicyDiffForm(): JSX.Element {
  const policy = useSignal("");
  const last = useSignal(1_000);
  const result = useSignal<PolicyComparison | undefined>(undefined);
  const problem = useSignal("");
  const isBusy = useSignal(false);
  const compare = async (event: Event): Promise<void> => {
    event.preventDefault();
    isBusy.value = true;
    result.value = undefined;
    problem.value = "";
    try {
      result.value = await send("POST /v1/journal/policy-diff", {
        body: { policy: policy.value, last: last.value },
      });
    } catch (error) {
      problem.value = [messageOf(error), ...problemsIn(error)].join("; ");
    }
    isBusy.value = false;
  };
  return (
    <details>
      <summary>Try a policy on recorded calls</summary>
      <form class="confirm" aria-label="Try a policy" onSubmit={compare}>
        <label>
          Policy, as YAML
          <textarea
            class="foreign"
            rows={12}
            spellcheck={false}
            value={policy}
            onInput={({ currentTarget }) => {
              policy.value = currentTarget.value;
            }}
          />
        </label>
        <label>
          Calls, the latest ones
          <input
            type="number"
            min={1}
            max={MAX_LAST}
            required
            value={last}
            onInput={({ currentTarget }) => {
              last.value = currentTarget.valueAsNumber;
            }}
          />
        </label>
        <button type="submit" disabled={isBusy.value || policy.value.trim() === ""}>
          {isBusy.value ? "Comparing…" : "Compare"}
        </button>
      </form>
      <Problem of={problem} />
      <div role="status">{result.value !== undefined && <Result result={result.value} />}</div>
    </details>
  );
}

/** What is wrong with the policy, by the lines of the text. */
function problemsIn(error: unknown): readonly string[] {
  const problems = error instanceof ApiError ? error.details["problems"] : undefined;
  if (!Array.isArray(problems)) return [];
  return (problems as readonly { readonly line: number; readonly message: string }[])
    .slice(0, MAX_PROBLEMS)
    .map(({ line, message }) => `line ${line}: ${message}`);
}

function Result({ result }: { readonly result: PolicyComparison }): JSX.Element {
  const { compared, changed, counts, isCut } = result;
  const causes = Object.entries(counts.undecidable);
  return (
    <>
      <p>
        {count(compared, "call")} compared; the decision on {count(counts.different, "call")} would change.
        {counts.different > changed.length && ` The first ${changed.length} are listed.`}
        {isCut && " The journal has too many bytes for more calls."}
      </p>
      {counts.undecided > 0 && <p>{count(counts.undecided, "call")} failed before the policy decided.</p>}
      {causes.map(([cause, calls]) => (
        <p key={cause}>
          {count(calls, "call")} cannot be decided again: <Foreign text={cause} />
        </p>
      ))}
      {changed.length > 0 && (
        <table>
          <Titles of={["Record", "Tool", "Was", "Would be", "Change", "Rules"]} />
          <tbody>
            {changed.map(({ seq, toolName, before, after, changes, rules }) => (
              <tr key={seq}>
                <td>
                  <a href={hashOf("history", String(seq))}>{seq}</a>
                </td>
                <td>
                  <Foreign text={toolName} />
                </td>
                <td>
                  <Badge word={before} />
                </td>
                <td>
                  <Badge word={after} />
                </td>
                <td>
                  <Foreign text={changes.join(", ")} />
                </td>
                <td>
                  <Foreign text={rules.join(", ")} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </>
  );
}
