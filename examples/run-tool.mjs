// Runs a tool as a model would have it run, under the grant that the build wrote.
import { spawnSync } from "node:child_process";

/**
 * @param {string} file The tool.
 * @param {unknown} input Its input.
 * @param {string[]} [options] Further options of `sandgate tool run`.
 * @returns what `sandgate tool run` prints: `success`, `output`, `error`, `log`, `receipt`
 */
export function runTool(file, input, options = []) {
  const args = [
    "tool",
    "run",
    file,
    "--policy",
    "dist/grant.yaml",
    "--input",
    JSON.stringify(input),
    ...options,
  ];
  const { error, stdout, stderr } = spawnSync("sandgate", args, { encoding: "utf8" });
  if (error !== undefined) throw new Error("the command sandgate is not installed", { cause: error });
  if (stdout === "") throw new Error(stderr);
  return JSON.parse(stdout);
}
