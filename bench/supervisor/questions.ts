import type { Case, Question } from "../harness/case.ts";
import { openBare, openSupervised } from "./agents.ts";
import type { Pace } from "./rounds.ts";

const BARE = "a bare line there and back, and the dispatch";

function casesOf(pace: Pace, agents: number): readonly Case[] {
  const calls = agents * pace.count;
  return [
    { name: BARE, calls, open: () => openBare(pace, agents) },
    { name: "tool_call of an unconfined agent", calls, open: () => openSupervised(pace, agents, "none") },
    { name: "tool_call of a confined agent", calls, open: () => openSupervised(pace, agents, "process") },
  ];
}

/** What the supervisor costs a call. */
const one: Question = { name: "supervisor", cases: casesOf({ count: 64, atOnce: 1 }, 1) };

/** 1,000 calls of one agent, all of which it sends before it reads an answer. */
const outstanding: Question = {
  name: "supervisor-outstanding",
  cases: casesOf({ count: 1_000, atOnce: 1_000 }, 1),
};

/** 100 agents, each with one call at a time. */
const together: Question = { name: "supervisor-agents", cases: casesOf({ count: 10, atOnce: 1 }, 100) };

/** The questions about supervised agents. */
export const questions: readonly Question[] = [one, outstanding, together];
