import type { JSX } from "preact";
import type { Suggestion } from "../api/calls.ts";
import { CopyButton } from "../parts/copy-button.tsx";
import { Foreign, ForeignBlock } from "../parts/foreign.tsx";

/** Shows the smallest change of the policy that would allow a call, and what else it would allow. */
export function SuggestionBox({ suggestion }: { readonly suggestion: Suggestion }): JSX.Element {
  if ("withheld" in suggestion) {
    return (
      <section class="suggestion" aria-labelledby="suggestion-title">
        <h3 id="suggestion-title">No change is suggested</h3>
        <p>
          <Foreign text={suggestion.withheld} />
        </p>
      </section>
    );
  }
  const { decision, text, yaml, where, widens } = suggestion;
  return (
    <section class="suggestion" aria-labelledby="suggestion-title">
      <h3 id="suggestion-title">
        {decision === "ask" ? "What would have a person asked" : "What would allow it"}
      </h3>
      <p>
        <Foreign text={text} />
      </p>
      <p>
        At <Foreign text={where} />:
      </p>
      <ForeignBlock text={yaml} label="Suggested rule" />
      <CopyButton text={yaml} label="Copy the rule" />
      {widens.length > 0 && (
        <>
          <p>This also allows:</p>
          <ul>
            {widens.map((line, at) => (
              <li key={at}>
                <Foreign text={line} />
              </li>
            ))}
          </ul>
        </>
      )}
    </section>
  );
}
