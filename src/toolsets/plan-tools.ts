import { defineTool, type Tool } from "../engine/tool.ts";
import { inputSchema } from "./input-schema.ts";

/** The longest plan, in UTF-16 code units. */
const MAX_PLAN_LENGTH = 20_000;

/** The call runs once a person has allowed it, which is what approves the plan. */
const submitPlan = defineTool({
  name: "submit_plan",
  description:
    "Submits a plan of what you are going to do, for a person to approve. Until a plan is approved, you can only read. " +
    "Returns { approved: true }.",
  sideEffects: "none",
  alwaysConfirm: true,
  submitsPlan: true,
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
