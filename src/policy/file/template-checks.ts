import type { ConfigPath } from "../../config/source.ts";
import { isFileTemplate } from "../grant/file-template.ts";
import { isOriginTemplate, type RuleCapabilities } from "../grant/grant-template.ts";
import type { ConditionProblem } from "./checked-rule.ts";
import { conditionProblems } from "./condition-checks.ts";
import type { PolicyTool } from "./policy-tool.ts";

/** Checks the arguments from which a rule's capabilities take files and origins, like those of conditions on texts. */
export function templateProblems(
  { fs = [], net = [] }: RuleCapabilities = {},
  tools: readonly PolicyTool[],
  isNamed: (tool: PolicyTool) => boolean,
): readonly ConditionProblem[] {
  const problemsOf = (argument: string, path: ConfigPath): ConditionProblem[] =>
    conditionProblems(
      { [argument as `/${string}`]: { prefix: "" } },
      { effect: "allow", tools, isNamed },
    ).map((problem) => ({
      ...problem,
      path: ["capabilities", ...path, "argument"],
      at: "value",
    }));
  return [
    ...fs.flatMap((grant, index) =>
      isFileTemplate(grant) ? problemsOf(grant.file.argument, ["fs", index, "file"]) : [],
    ),
    ...net.flatMap((grant, index) =>
      isOriginTemplate(grant) ? problemsOf(grant.argument, ["net", index]) : [],
    ),
  ];
}
