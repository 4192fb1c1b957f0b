/**
 * Runs the programs of examples/recipes with the packages of the frameworks, in pinned versions, and the packed package, against
 * a stand-in for the model. Fails if a program does not print the model's answer, which has the result of the call.
 *
 *     npm run build && npm run test:recipes [-- NAME…]
 */
import { execFile, execFileSync } from "node:child_process";
import { cpSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs, promisify } from "node:util";
import { startModelProvider } from "../test/examples/model-provider.ts";

/** The packages of each recipe. `sandgate` is packed here. */
const RECIPES: Record<string, readonly string[]> = {
  "openai-responses": ["openai@7.55.0"],
  anthropic: ["@anthropic-ai/sdk@1.11.0"],
  "ai-sdk": ["ai@7.0.173", "@ai-sdk/openai@4.0.118"],
  "openai-agents": ["@openai/agents@0.20.0"],
  "google-genai": ["@google/genai@3.1.0"],
  langgraph: ["@langchain/core@1.4.0", "@langchain/langgraph@1.7.3", "@langchain/openai@1.5.8"],
  mastra: ["@mastra/core@1.71.0", "@ai-sdk/openai@4.0.118"],
};
/** The recipes in which a person is asked need the same packages as those without. */
for (const name of ["ai-sdk", "openai-agents", "langgraph", "mastra"] as const)
  RECIPES[`${name}-asked`] = RECIPES[name] ?? [];
/** The tools that a program had before, wrapped. */
RECIPES["ai-sdk-wrapped"] = [...(RECIPES["ai-sdk"] ?? []), "zod@4.6.7"];
RECIPES["langchain-wrapped"] = ["@langchain/core@1.4.0", "@langchain/openai@1.5.8", "zod@4.6.7"];
const TIMEOUT_MS = 60_000;

const { positionals } = parseArgs({ allowPositionals: true });
const names = positionals.length > 0 ? positionals : Object.keys(RECIPES);
const unknown = names.find((name) => RECIPES[name] === undefined);
if (unknown !== undefined)
  throw new Error(`there is no recipe '${unknown}': ${Object.keys(RECIPES).join(", ")}`);

const folder = mkdtempSync(join(tmpdir(), "sandgate-recipes-"));
const model = await startModelProvider();
try {
  execFileSync("npm", ["pack", "--silent", "--pack-destination", folder], { stdio: "ignore" });
  const tarball = readdirSync(folder).find((name) => name.endsWith(".tgz"));
  cpSync("examples/recipes", folder, { recursive: true });
  writeFileSync(join(folder, "package.json"), '{ "private": true, "type": "module" }');
  const packages = new Set(names.flatMap((name) => RECIPES[name] ?? []));
  const options = ["--ignore-scripts", "--no-audit", "--no-fund", "--silent"];
  execFileSync("npm", ["install", ...options, `./${tarball}`, ...packages], {
    cwd: folder,
    stdio: "inherit",
  });
  for (const name of names) {
    const running = promisify(execFile)(process.execPath, [`${name}.mjs`], {
      cwd: folder,
      timeout: TIMEOUT_MS,
      env: { ...process.env, ...model.env },
    });
    // The person at the terminal.
    running.child.stdin?.end("y\n");
    const printed = await running.then(
      ({ stdout }) => stdout,
      (error: Error & { stderr?: string }) => error.stderr ?? error.message,
    );
    const isRight = printed === "It is 5\n";
    console.log(isRight ? `${name} works` : `${name} fails: ${printed.slice(0, 2_000)}`);
    if (!isRight) process.exitCode = 1;
  }
} finally {
  await model.close();
  rmSync(folder, { recursive: true, force: true });
}
