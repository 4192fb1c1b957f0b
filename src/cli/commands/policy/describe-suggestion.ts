import type { PolicySuggestion } from "../../../policy/remedy/policy-suggestion.ts";
import { shown } from "../../../rendering/shown.ts";
import { ShownText } from "../../../rendering/shown-text.ts";

/** Describes a change of the policy that would allow a call, or why there is none to suggest. */
export function describeSuggestion(suggestion: PolicySuggestion): readonly ShownText[] {
  if ("withheld" in suggestion) return [shown`no change is suggested: ${suggestion.withheld}`];
  const { decision, text, yaml, widens } = suggestion;
  const outcome = decision === "ask" ? ", once a person confirms it" : "";
  return [
    shown`to allow the call${outcome}: ${text}`,
    // Visible ASCII, to be copied as it is.
    new ShownText(yaml.trimEnd(), { isData: true }),
    ...widens.map((line) => shown`  this also allows ${line}`),
  ];
}
