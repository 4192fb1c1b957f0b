import { strictEqual } from "node:assert";
import type { Case, OpenCase, Question } from "../harness/case.ts";
import { runCode } from "./fresh-process.ts";

/** The cost of importing the package in a new process, compared to an empty module. Compare the differences. */
export const importing: Question = {
  name: "cold-import",
  cases: [
    inProcess("a process with an empty module", ""),
    inProcess('import "sandgate"', 'import "sandgate";'),
    inProcess(
      "the same, with a policy of rules and a tool",
      `import { RulePolicy, ToolRegistry } from "sandgate";
       new RulePolicy({ rules: [{ tools: ["*"], effect: "allow", sandboxes: ["host"] }] });
       new ToolRegistry().register({
         name: "a", description: "", inputSchema: { type: "object" }, host: () => null,
       });`,
    ),
  ],
};

function inProcess(name: string, code: string): Case {
  const open = (): OpenCase => ({
    run: () => runCode(`${code} console.log("done");`),
    check: (output) => strictEqual(output, "done"),
  });
  return { name, open };
}
