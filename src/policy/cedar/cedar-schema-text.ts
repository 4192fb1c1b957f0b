import type { PolicyTool } from "../file/policy-tool.ts";
import { loadCedar } from "./cedar-library.ts";
import { cedarSchema } from "./cedar-schema.ts";

/**
 * Returns the Cedar schema of tools in Cedar's own syntax, for editors and other tools: see {@link cedarSchema}.
 *
 * @throws {Error} if `@cedar-policy/cedar-wasm` is not installed.
 */
export async function cedarSchemaText(tools: readonly PolicyTool[]): Promise<string> {
  const cedar = await loadCedar();
  const answer = cedar.schemaToText(cedarSchema(tools));
  if (answer.type === "failure") throw new Error(answer.errors.map(({ message }) => message).join("; "));
  return answer.text;
}
