import { type Principal, Redaction, type ToolExecution, ToolRegistry } from "sandgate";
import type { OpenCase, Question } from "../harness/case.ts";
import { INPUT_SCHEMA } from "../setting.ts";
import { type ContextParts, listened, openDispatch, readTool, rulePolicy } from "./dispatch.ts";
import { FLOOR, openFloor } from "./floor.ts";

const PRINCIPAL: Principal = Object.freeze({
  id: "ada",
  kind: "user",
  roles: Object.freeze(["reader"]),
  attributes: Object.freeze({ tenant: "a" }),
});

const open = (parts: ContextParts = {}): Promise<OpenCase> =>
  openDispatch({ policy: rulePolicy(), ...parts });

/** What each optional check of a dispatch costs, over the rules alone. */
export const checks: Question = {
  name: "host-checks",
  cases: [
    { name: FLOOR, open: () => openFloor() },
    { name: "dispatch, with a RulePolicy of 20 rules and a bound grant", open: () => open() },
    { name: "and the digest of the grant, read", open: openWithDigest },
    { name: "and a principal", open: () => open({ principal: PRINCIPAL }) },
    { name: "and time-outs by class", open: () => open({ timeouts: { quick: 60_000, slow: 600_000 } }) },
    { name: "and an output schema", open: () => open({ registry: withOutputSchema() }) },
    { name: "and aliases of tools", open: () => open({ toolAlias: (name) => name }) },
    { name: "and a redaction, without a listener", open: () => open({ redaction: new Redaction() }) },
    {
      name: "and a redaction that denies secrets in arguments",
      open: () => open({ redaction: new Redaction({ onSecretArgument: "deny" }) }),
    },
    {
      name: "and a redaction with a listener",
      open: () => open({ redaction: new Redaction(), events: listened(() => {}) }),
    },
  ],
};

async function openWithDigest(): Promise<OpenCase> {
  const { run, ...opened } = await open();
  const dispatch = run as () => Promise<ToolExecution>;
  return {
    ...opened,
    run: async () => {
      const execution = await dispatch();
      if (execution.receipt.grant?.digest.length !== 64) throw new Error("the receipt has no digest");
      return execution;
    },
  };
}

function withOutputSchema(): ToolRegistry {
  return new ToolRegistry().register({ ...readTool(), outputSchema: INPUT_SCHEMA });
}
