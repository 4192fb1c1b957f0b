import type { ExplainedRule, PolicyExplanation } from "../../../policy/explanation.ts";
import { WRITTEN_NAMES } from "../../../policy/file/written-limits.ts";
import { formatLimit, type LimitName } from "../../../policy/grant/limits.ts";
import { shown } from "../../../rendering/shown.ts";
import type { ShownText } from "../../../rendering/shown-text.ts";

/** Describes an explanation in prose, one line for each thing that it says. */
export function describeExplanation(tool: string, explanation: PolicyExplanation): readonly ShownText[] {
  const { rules } = explanation;
  return [
    headline(tool, explanation),
    ...(rules.length === 0 ? [shown`  no rule names the tool`] : rules.map(describeRule)),
    ...describeGrant(explanation),
  ];
}

function headline(tool: string, { decision }: PolicyExplanation): ShownText {
  switch (decision.decision) {
    case "allow":
      return shown`allow: ${tool} runs in ${decision.grant.sandbox}`;
    case "ask":
      return decision.grant === undefined
        ? shown`ask: ${tool} is denied, since no rule grants it anything that a person could confirm`
        : shown`ask: ${tool} runs in ${decision.grant.sandbox} once a person confirms: '${decision.question}'`;
    case "deny":
      return shown`deny: ${tool} does not run: ${decision.reason}`;
  }
}

const MATCHED = { yes: "matches", no: "does not match", unclear: "may match" } as const;

function describeRule({ name, effect, matched, why }: ExplainedRule): ShownText {
  const consequence =
    matched !== "unclear"
      ? ""
      : effect === "allow"
        ? ", so it only restricts what other rules grant"
        : ", so it applies";
  return shown`  '${name}' (${effect}) ${MATCHED[matched]}: ${why}${consequence}`;
}

function describeGrant({ decision, ...origins }: PolicyExplanation): readonly ShownText[] {
  if (decision.decision === "deny" || decision.grant === undefined) return [];
  const { sandbox, limits, capabilities } = decision.grant;
  const rulesOf = (names: readonly string[]): string => names.map((name) => `'${name}'`).join(", ");
  return [
    shown`  sandbox ${sandbox}: from '${origins.sandbox ?? ""}'`,
    ...Object.entries(origins.limits).map(([name, rule]) => {
      const limit = name as LimitName;
      return shown`  limit ${WRITTEN_NAMES[limit]} ${formatLimit(limit, limits[limit] ?? 0)}: from '${rule}'`;
    }),
    ...Object.entries(origins.capabilities).map(([name, rules]) => {
      const value = JSON.stringify(capabilities[name as keyof typeof capabilities]);
      return shown`  capability ${name} ${value}: from ${rulesOf(rules)}`;
    }),
    ...Object.entries(origins.withheld).map(([name, rules]) =>
      rules.length === 0
        ? shown`  no capability ${name}: the rules grant nothing of it in common`
        : shown`  no capability ${name}: not granted by ${rulesOf(rules)}`,
    ),
  ];
}
