import { deepStrictEqual } from "node:assert";
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import type { Case, Question } from "./measure.ts";

const execute = promisify(execFile);

/** What does importing the package cost a fresh process, beside an empty module? The difference counts. */
export async function importing(): Promise<Question> {
  return {
    name: "import",
    floor: inProcess("a process with an empty module", ""),
    cases: [
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
}

/** The code stands here, so that it finds the package as this file does. */
function inProcess(name: string, code: string): Case {
  const args = ["--input-type=module", "--eval", `${code} console.log("done");`];
  return {
    name,
    run: async () => (await execute(process.execPath, args, { cwd: import.meta.dirname })).stdout,
    check: (output) => deepStrictEqual(output, "done\n"),
  };
}
