import assert from "node:assert";
import {
  allow,
  defineTool,
  openSandboxes,
  type PolicyDecision,
  type PolicyRequest,
  type RuleConditions,
  RulePolicy,
  ToolRegistry,
} from "sandgate";
import { openSessions } from "sandgate/sessions";
import type { Case, OpenCase, Question } from "../harness/case.ts";

const CONTACTS = 10_000;
const USER_TEXT = `Please send the notes of Monday to ann@x.example, with the subject 'Notes'. ${"More words. ".repeat(30)}`;
const MAIL = `Hello Ann, ${"these are the notes of Monday. ".repeat(32)}`;
const emails = { tool: "list_contacts", field: "/email" };

function asking(name: string, when: RuleConditions): Case {
  return { name, open: () => openDecision(when) };
}

/** What a condition on where a value came from costs. */
export const provenance: Question = {
  name: "policy-provenance",
  cases: [
    asking("decision of a rule on a prefix", { "/to": { prefix: "c9999@" } }),
    asking("from the user's words (450 characters)", { "/cc": { from: ["user"] } }),
    asking("from a field of results with 10,000 values", { "/to": { from: [emails] } }),
    asking("links in a mail of 1,000 characters", { "/text": { links: { from: ["user"] } } }),
  ],
};

/** Decides again and again on a call of a session that has listed its contacts. */
async function openDecision(when: RuleConditions): Promise<OpenCase> {
  const policy = new RulePolicy({ rules: [{ tools: ["send"], effect: "allow", sandboxes: ["host"], when }] });
  let last: PolicyRequest | undefined;
  await using sandboxes = await openSandboxes();
  const registry = new ToolRegistry()
    .register(
      defineTool({
        name: "list_contacts",
        description: "",
        inputSchema: { type: "object" },
        sideEffects: "none",
        host: () => Array.from({ length: CONTACTS }, (_, index) => ({ email: `c${index}@x.example` })),
      }),
    )
    .register(
      defineTool({
        name: "send",
        description: "",
        inputSchema: { type: "object" },
        sideEffects: "none",
        host: () => "sent",
      }),
    );
  await using sessions = await openSessions({
    registry,
    sandboxes,
    policy: {
      usesHistory: true,
      trackedFields: policy.trackedFields,
      check: (request) => {
        last = request;
        return allow({ sandbox: "host" });
      },
    },
  });
  const session = await sessions.open();
  const turn = session.turn({ userText: USER_TEXT });
  const input = { to: "c9999@x.example", cc: "ann@x.example", text: MAIL };
  await turn.dispatch({ id: "list", name: "list_contacts", arguments: {} });
  await turn.dispatch({ id: "send", name: "send", arguments: input });
  const request = last as unknown as PolicyRequest;
  assert(request.tool.name === "send");
  return {
    run: () => policy.check(request),
    check: (decision) => assert((decision as PolicyDecision).decision === "allow"),
  };
}
