import type { McpOffers } from "../mcp-offers.ts";
import { findPrompt } from "./find-offer.ts";

/** Why a prompt cannot be had with these arguments; `undefined` if it can. */
export function findPromptProblem(
  offers: McpOffers,
  name: string,
  args: Readonly<Record<string, string>>,
): string | undefined {
  const prompt = findPrompt(offers, name);
  if (prompt === undefined) return "There is no prompt with this name: list the prompts";
  const missing = (prompt.arguments ?? []).find(
    ({ name: argument, required }) => required === true && !Object.hasOwn(args, argument),
  );
  return missing && `The argument '${missing.name}' of the prompt is missing`;
}
