import { beforeEach, describe, expect, test } from "vitest";
import { CanonicalJson } from "../../../src/json/canonical.ts";
import type { JsonObject } from "../../../src/json/value.ts";
import type { PolicyRequest } from "../../../src/policy/policy.ts";
import { type ApprovalPlace, Approvals } from "../../../src/sessions/approvals.ts";
import type { ApprovalScope } from "../../../src/sessions/confirmations/confirmation.ts";
import { MemorySessionStore } from "../../../src/sessions/store/memory-store.ts";
import { SESSION } from "../store/records.ts";

const HERE: ApprovalPlace = { sessionId: "s1", principal: "ann", workspace: "/srv/project" };
let store: MemorySessionStore;
let now: number;
let approvals: Approvals;
let count = 0;

beforeEach(() => {
  store = new MemorySessionStore();
  store.addSession(SESSION);
  store.addSession({ ...SESSION, id: "s2" });
  now = 1_000;
  approvals = new Approvals(store, () => now);
});

function request(name: string, input: JsonObject = {}): PolicyRequest {
  const tool = { name, sideEffects: "write", sandboxes: [], inputSchema: {} } as const;
  return { callId: "1", sessionId: "s1", input, canonical: new CanonicalJson(input), tool };
}

async function remember(scope: Partial<ApprovalScope>, place: ApprovalPlace = HERE): Promise<string> {
  const approval = await approvals.remember({
    ...place,
    id: `q${count++}`,
    by: "bob",
    at: now,
    scope: { tools: ["send"], for: "session", ...scope },
  });
  return approval?.id ?? "";
}

function covers(name: string, input: JsonObject = {}, place: ApprovalPlace = HERE): boolean {
  return approvals.find(place, request(name, input)) !== undefined;
}

describe("An approval", () => {
  test("covers the tools that it names, and no others", async () => {
    await remember({ tools: ["send_*", "read"] });
    expect(covers("send_mail")).toBe(true);
    expect(covers("read")).toBe(true);
    expect(covers("read_all")).toBe(false);
    expect(covers("resend_mail")).toBe(false);
  });

  test("covers only calls that certainly meet its conditions", async () => {
    await remember({ when: { "/amount": { range: { max: 100 } }, "/path": { glob: "data/**" } } });
    expect(covers("send", { amount: 100, path: "data/a" })).toBe(true);
    expect(covers("send", { amount: 101, path: "data/a" })).toBe(false);
    expect(covers("send", { amount: "1", path: "data/a" })).toBe(false);
    expect(covers("send", { amount: 1, path: "data/../etc" })).toBe(false);
    expect(covers("send", { amount: 1 })).toBe(false);
  });

  test("for the session holds in no other one", async () => {
    await remember({});
    expect(covers("send")).toBe(true);
    expect(covers("send", {}, { ...HERE, sessionId: "s2" })).toBe(false);
  });

  test("for the workspace holds in other sessions of the same principal there, and nowhere else", async () => {
    await remember({ for: "workspace" });
    expect(covers("send", {}, { ...HERE, sessionId: "s2" })).toBe(true);
    expect(covers("send", {}, { ...HERE, sessionId: "s2", workspace: "/srv/project-evil" })).toBe(false);
    expect(covers("send", {}, { ...HERE, sessionId: "s2", principal: "joe" })).toBe(false);
    expect(covers("send", {}, { sessionId: "s2", workspace: "/srv/project" })).toBe(false);
    expect(covers("send", {}, { sessionId: "s2", principal: "ann" })).toBe(false);
  });

  test("for the workspace holds for the session where there is none", async () => {
    const place = { sessionId: "s1" };
    await remember({ for: "workspace" }, place);
    expect(covers("send", {}, place)).toBe(true);
    expect(covers("send", {}, { sessionId: "s2" })).toBe(false);
    expect(approvals.list(place)[0]?.approval.for).toBe("session");
  });

  test("for a time ends, and holds only in its session", async () => {
    await remember({ for: 500 });
    expect(covers("send", {}, { ...HERE, sessionId: "s2" })).toBe(false);
    now = 1_499;
    expect(covers("send")).toBe(true);
    now = 1_500;
    expect(covers("send")).toBe(false);
    expect(approvals.list(HERE)).toEqual([]);
  });

  test("for a number of calls covers so many, even when they come at once", async () => {
    await remember({ calls: 2 });
    const found = [1, 2, 3].map(() => approvals.find(HERE, request("send")));
    const uses = await Promise.all(found.map((approval) => approval && approvals.use(approval)));
    expect(uses).toEqual([true, true, false]);
    expect(covers("send")).toBe(false);
    expect(approvals.list(HERE).map(({ used }) => used)).toEqual([2]);
  });

  test("without a bound is used before one with a bound", async () => {
    await remember({ calls: 1 });
    const id = await remember({ for: "workspace" });
    const found = approvals.find(HERE, request("send"));
    expect(found?.id).toBe(id);
    expect(found && approvals.use(found)).toBe(true);
  });

  test("that is revoked covers nothing, not even a call that had found it", async () => {
    const id = await remember({ calls: 5 });
    const found = approvals.find(HERE, request("send"));
    expect(await approvals.revoke({ sessionId: "s2", principal: "ann" }, id)).toBe(false);
    expect(await approvals.revoke(HERE, id)).toBe(true);
    expect(await approvals.revoke(HERE, id)).toBe(false);
    expect(found && (await approvals.use(found))).toBe(false);
    expect(covers("send")).toBe(false);
    expect(store.approvals()).toEqual([]);
  });

  test("is listed in every session where it holds, the oldest first", async () => {
    await remember({});
    now++;
    await remember({ for: "workspace" });
    now++;
    await remember({ tools: ["other"] });
    const names = (place: ApprovalPlace): readonly string[] =>
      approvals.list(place).map(({ approval }) => `${approval.tools} ${approval.for}`);
    expect(names(HERE)).toEqual(["send session", "send workspace", "other session"]);
    expect(names({ ...HERE, sessionId: "s2" })).toEqual(["send workspace"]);
  });

  test("that is remembered again, as after a restart, is the same one", async () => {
    const answer = {
      ...HERE,
      id: "q",
      by: "bob",
      at: now,
      scope: { tools: ["send"], for: "session" },
    } as const;
    await approvals.remember(answer);
    await approvals.remember(answer);
    expect(approvals.list(HERE)).toHaveLength(1);
  });

  test("ends with its session", async () => {
    await remember({});
    approvals.forgetSession("s1");
    expect(covers("send")).toBe(false);
  });
});

test("Approvals go on after a restart, with their uses and without the expired ones", async () => {
  await remember({ calls: 2 });
  await remember({ for: 500, tools: ["late"] });
  const found = approvals.find(HERE, request("send"));
  await (found && approvals.use(found));
  now = 2_000;
  approvals = new Approvals(store, () => now);
  await approvals.restore();
  expect(approvals.list(HERE)).toMatchObject([{ approval: { tools: ["send"] }, used: 1 }]);
  expect(store.approvals()).toHaveLength(1);
});

test("The oldest of more than 1,000 approvals of a session is removed", async () => {
  await remember({ tools: ["first"] });
  for (let index = 0; index < 1_000; index++) await remember({ tools: [`tool_${index}`] });
  expect(covers("first")).toBe(false);
  expect(covers("tool_0")).toBe(true);
  expect(store.approvals()).toHaveLength(1_000);
});
