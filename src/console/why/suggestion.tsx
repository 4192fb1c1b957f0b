import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import type { SuggestedChange, Suggestion } from "../api/calls.ts";
import { Foreign, ForeignBlock } from "../parts/foreign.tsx";

/** Shows the smallest change of the policy that would allow a call, and which other calls it would allow. */
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
  const { decision, exactly } = suggestion;
  return (
    <section class="suggestion" aria-labelledby="suggestion-title">
      <h3 id="suggestion-title">
        {decision === "ask" ? "What would have a person asked" : "What would allow it"}
      </h3>
      <Change change={suggestion} label="Suggested rule" copy="Copy the rule" />
      {exactly !== undefined && (
        <>
          <h3>Or exactly this call</h3>
          <Change
            change={exactly}
            label="Rule for exactly this call"
            copy="Copy the rule for exactly this call"
          />
        </>
      )}
    </section>
  );
}

function Change({
  change: { text, yaml, where, widens },
  label,
  copy,
}: {
  readonly change: SuggestedChange;
  readonly label: string;
  readonly copy: string;
}): JSX.Element {
  return (
    <>
      <p>
        <Foreign text={text} />
      </p>
      <p>
        At <Foreign text={where} />:
      </p>
      <ForeignBlock text={yaml} label={label} />
      <CopyButton text={yaml} label={copy} />
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
    </>
  );
}

/** Copies a text to the clipboard, and says whether it did. */
function CopyButton({ text, label }: { readonly text: string; readonly label: string }): JSX.Element {
  const result = useSignal("");
  const copy = async (): Promise<void> => {
    try {
      await navigator.clipboard.writeText(text);
      result.value = "Copied";
    } catch {
      result.value = "The browser refused. Select the text and copy it.";
    }
  };
  return (
    <span class="copy">
      <button type="button" onClick={copy}>
        {label}
      </button>
      <span role="status">{result}</span>
    </span>
  );
}
