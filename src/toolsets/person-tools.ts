import { defineTool, type Tool } from "../engine/tool.ts";
import { MAX_CHOICE_CHARS, MAX_CHOICES, MAX_QUESTION_CHARS } from "../tool/question.ts";
import { inputSchema } from "./tool-parts.ts";

/** Asking changes nothing, and an answer approves nothing. */
const askUser = defineTool({
  name: "ask_user",
  description:
    "Asks the user a question, and returns the answer: one of the options, or any text if there are none. The answer is no permission to do anything.",
  sideEffects: "none",
  inputSchema: inputSchema(
    { question: { type: "string", minLength: 1, maxLength: MAX_QUESTION_CHARS } },
    {
      options: {
        type: "array",
        items: { type: "string", minLength: 1, maxLength: MAX_CHOICE_CHARS },
        minItems: 1,
        maxItems: MAX_CHOICES,
        uniqueItems: true,
      },
    },
  ),
  host: async ({ question, options }, { ask }) => ({
    answer: await ask({ question, ...(options !== undefined && { choices: options }) }),
  }),
});

/** A tool with which the model asks the user: `ask_user`. */
export function askTools(): readonly Tool[] {
  return [askUser];
}

/** The longest plan, in UTF-16 code units. */
const MAX_PLAN_LENGTH = 20_000;

/** The call runs once a person has allowed it, which is what approves the plan. */
const submitPlan = defineTool({
  name: "submit_plan",
  description:
    "Submits a plan of what you are going to do, for a person to approve. Until a plan is approved, you can only read. " +
    "Returns { approved: true }.",
  sideEffects: "none",
  confirm: "plan",
  inputSchema: inputSchema({
    plan: {
      type: "string",
      minLength: 1,
      maxLength: MAX_PLAN_LENGTH,
      description: "The whole plan, step by step",
    },
  }),
  host: () => ({ approved: true }),
});

/** A tool with which the model has its plan approved: `submit_plan`. */
export function planTools(): readonly Tool[] {
  return [submitPlan];
}
