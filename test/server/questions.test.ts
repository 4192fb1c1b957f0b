import { describe, expect, test } from "vitest";
import { defineTool, type Tool } from "../../src/engine/tool.ts";
import type { Question } from "../../src/tool/question.ts";
import { toolsOf } from "../../src/toolsets/toolsets.ts";
import { type ListedConfirmation, pathOf, refusalOf, startServer, TestClient } from "./harness.ts";

const WHICH: Question = { question: "Which \u202egnp.exe?", choices: ["a", "b"] };

function asking(question: Question): Tool {
  return defineTool({
    name: "asks",
    description: "Asks.",
    inputSchema: { type: "object" },
    sideEffects: "none",
    host: (_input, { ask }) => ask(question as Question & { multiple?: false }),
  });
}

async function waiting(question: Question) {
  const server = await startServer([asking(question)]);
  const client = (name: "alice" | "carol" | "mallory" | "frank") => new TestClient(server, name);
  const [alice, carol] = [client("alice"), client("carol")];
  const session = await alice.open();
  const { turnId } = await alice.dispatch(session, [{ id: "c1", name: "asks", arguments: {} }]);
  const [confirmation] = (await carol.confirmations()) as readonly [ListedConfirmation];
  return { client, alice, carol, session, confirmation, executions: () => alice.executions(session, turnId) };
}

describe("a question of a tool over HTTP", () => {
  test("is told to clients that come later, and answered by an approver", async () => {
    const { alice, carol, session, confirmation, executions } = await waiting(WHICH);
    expect(confirmation).toMatchObject({
      kind: "question",
      toolName: "asks",
      question: "Which \\u202egnp.exe?",
      missing: "",
      options: ["a", "b"],
      multiple: false,
      choices: ["answer", "deny"],
    });
    expect(await carol.json("GET", pathOf(confirmation))).toMatchObject({ wholeQuestion: WHICH.question });
    const events = alice.events(`/v1/sessions/${session}/events`);
    const { requestId, digest } = confirmation;
    expect(await events.next("tool.confirmation_requested")).toMatchObject({
      requestId,
      digest,
      kind: "question",
    });
    const answer = await carol.answer(confirmation, { decision: "answer", answer: "b" });
    expect([answer.status, JSON.parse(answer.text)]).toMatchObject([
      200,
      { decision: "answer", by: "carol", answer: "b" },
    ]);
    const resolved = await events.next("tool.confirmation_resolved");
    expect(resolved).toMatchObject({ decision: "answer", by: "carol" });
    expect(resolved).not.toHaveProperty("answer");
    expect(await executions()).toMatchObject([{ success: true, output: "b" }]);
    expect((await carol.answer(confirmation, { decision: "answer", answer: "b" })).status).toBe(200);
    expect(refusalOf(await carol.answer(confirmation, { decision: "answer", answer: "a" }))).toBe(
      "409 already_answered",
    );
  });

  test("takes no answer from the agent or from those who do not approve for it", async () => {
    const { client, alice, confirmation } = await waiting(WHICH);
    const answer = { decision: "answer", answer: "a" };
    expect(refusalOf(await alice.answer(confirmation, answer))).toBe("403 forbidden");
    expect(refusalOf(await client("frank").answer(confirmation, answer))).toBe("403 forbidden");
    expect(refusalOf(await client("mallory").answer(confirmation, answer))).toBe("404 not_found");
  });

  test("stays open if an answer is invalid or of another digest", async () => {
    const { carol, confirmation, executions } = await waiting({ ...WHICH, multiple: true });
    for (const answer of [
      { decision: "answer" },
      { decision: "answer", answer: "a" },
      { decision: "answer", answer: ["c"] },
      { decision: "allow" },
      { decision: "always", answer: ["a"] },
    ]) {
      expect(refusalOf(await carol.answer(confirmation, answer))).toBe("422 invalid_answer");
    }
    const other = { decision: "answer", answer: ["a"], digest: "0".repeat(64) };
    expect(refusalOf(await carol.answer(confirmation, other))).toBe("422 other_digest");
    const wrong = { decision: "answer", answer: { a: 1 } };
    expect(refusalOf(await carol.answer(confirmation, wrong))).toBe("400 bad_request");
    expect((await carol.answer(confirmation, { decision: "answer", answer: ["b", "a"] })).status).toBe(200);
    expect(await executions()).toMatchObject([{ output: ["b", "a"] }]);
  });

  test("can be answered while the server is paused", async () => {
    const { client, carol, confirmation, executions } = await waiting(WHICH);
    await client("frank").json("POST", "/v1/pause", {});
    expect((await carol.answer(confirmation, { decision: "answer", answer: "a" })).status).toBe(200);
    expect(await executions()).toMatchObject([{ output: "a" }]);
  });
});

test("what a tool displays is told to the clients of its session", async () => {
  const server = await startServer(toolsOf("web", {}));
  const alice = new TestClient(server, "alice");
  const session = await alice.open();
  const events = alice.events(`/v1/sessions/${session}/events`);
  await events.opened;
  const diagram = { format: "mermaid", source: "<script>" };
  await alice.dispatch(session, [{ id: "c1", name: "display_diagram", arguments: diagram }]);
  expect(await events.next("tool.display")).toMatchObject({ ...diagram, callId: "c1" });
});
