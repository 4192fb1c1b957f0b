import { describe, expect, test } from "vitest";
import { startServer, TestClient, WritingTool } from "./harness.ts";

describe("a person is asked over HTTP", () => {
  test("a call runs after it was allowed, and its execution names who allowed it", async () => {
    const writing = new WritingTool();
    const server = await startServer([writing.tool]);
    const [alice, carol] = [new TestClient(server, "alice"), new TestClient(server, "carol")];
    const session = await alice.open();
    const events = alice.events(`/v1/sessions/${session}/events`);
    await events.opened;
    const { turnId } = await alice.dispatch(session, [{ id: "c1", name: "write_note", arguments: { text: "hi" } }]);
    const requested = await events.next("tool.confirmation_requested");
    expect(requested).toMatchObject({ callId: "c1", turnId, sessionId: session, toolName: "write_note" });
    expect(writing.inputs).toEqual([]);
    const [inquiry] = await carol.inquiries();
    if (inquiry === undefined) throw new Error("no inquiry");
    const answer = await carol.answer(inquiry, { decision: "allow" });
    expect([answer.status, JSON.parse(answer.text)]).toMatchObject([200, { decision: "allow", by: "carol" }]);
    const [execution] = await alice.executions(session, turnId);
    expect(execution).toMatchObject({ success: true, confirmation: { by: "carol", digest: inquiry.digest } });
    expect(writing.inputs).toEqual([{ text: "hi" }]);
    await events.next("turn.ended");
    expect(events.received.map(({ type }) => type)).toEqual([
      "tool.decided",
      "tool.confirmation_requested",
      "tool.confirmation_resolved",
      "tool.decided",
      "tool.started",
      "tool.completed",
      "turn.ended",
    ]);
  });
});
