import type { Case, Question } from "../harness/case.ts";
import { inFlight } from "../harness/in-flight.ts";
import { peerCase } from "../peer-case.ts";
import { callLists } from "./call-lists.ts";
import { checks } from "./checks.ts";
import { HOOKS, listened, openDispatch, rulePolicy } from "./dispatch.ts";
import { FLOOR, openFloor } from "./floor.ts";
import { argumentSizes, callsInFlight, registrySizes, ruleCounts } from "./scales.ts";
import { registration, schema } from "./schema.ts";

const IN_FLIGHT = 64;
const floor: Case = { name: FLOOR, open: () => openFloor() };

/** The cost of dispatching a function in this process, and of each part of the dispatch. */
const host: Question = {
  name: "host",
  cases: [
    floor,
    { name: "dispatch, a policy of one decision", open: () => openDispatch() },
    { name: "with a RulePolicy of 20 rules", open: () => openDispatch({ policy: rulePolicy() }) },
    {
      name: "with the rules and a hook gate",
      open: () => openDispatch({ policy: rulePolicy(), hooks: HOOKS }),
    },
    {
      name: "with the rules and a listener",
      open: () => openDispatch({ policy: rulePolicy(), events: listened(() => {}) }),
    },
    {
      name: "with the rules, a hook gate and a listener",
      open: () => openDispatch({ policy: rulePolicy(), hooks: HOOKS, events: listened(() => {}) }),
    },
    {
      name: "with all of it, and a digest of the arguments",
      open: () =>
        openDispatch({
          policy: rulePolicy(),
          hooks: HOOKS,
          events: listened((event) => event.type === "tool.started" && event.canonical.digest),
        }),
    },
    {
      name: "with the rules and a deadline",
      open: () => openDispatch({ policy: rulePolicy(20, { wallTimeMs: 30_000 }) }),
    },
    peerCase("AI SDK: safeParseJSON + executeTool, as generateText does for a call", "ai-sdk", "parts"),
    peerCase("AI SDK: generateText, one step with a model that answers at once", "ai-sdk", "generate"),
    peerCase("openai-agents: invokeFunctionTool, a JSON schema (parses, validates nothing)", "openai-agents"),
    peerCase("openai-agents: invokeFunctionTool, zod parameters", "openai-agents", "validated"),
    peerCase("MCP SDK: callTool, client and server in memory (zod)", "mcp-sdk"),
    peerCase("LangGraph: ToolNode.invoke (arguments parsed already; zod)", "langgraph"),
    peerCase("Mastra: tool.execute (arguments parsed already; zod)", "mastra"),
  ],
};

/** The same with many calls in flight. */
const hostLoad: Question = {
  name: "host-load",
  cases: [
    inFlight(IN_FLIGHT, floor),
    inFlight(IN_FLIGHT, {
      name: "dispatch, with a RulePolicy of 20 rules",
      open: () => openDispatch({ policy: rulePolicy() }),
    }),
  ],
};

/** The questions about host tools, the preparation of calls, and how both scale. */
export const questions: readonly Question[] = [
  host,
  checks,
  hostLoad,
  schema,
  registration,
  callLists,
  callsInFlight,
  argumentSizes,
  registrySizes,
  ruleCounts,
];
