import fc from "fast-check";
import { expect, test } from "vitest";
import {
  type ExternalAccess,
  NO_FILE_USE,
} from "../../../../src/sandboxes/quickjs/thread/external-access.ts";
import { GuestBorder } from "../../../../src/sandboxes/quickjs/thread/guest-border.ts";
import type { QuickJsTask } from "../../../../src/sandboxes/quickjs/thread/thread-task.ts";
import { ThreadLog } from "../../../../src/sandboxes/threads/thread-log.ts";
import type { TaskThread } from "../../../../src/sandboxes/threads/thread-message.ts";
import { workspaceIsSupported } from "../../../../src/workspace/paths/fd-path.ts";
import { GrantedTree } from "../../../workspace/granted-tree.ts";

/** Opens the border of a call with or without external access. */
function open(access?: ExternalAccess, nestedCalls = 0): GuestBorder {
  const task: QuickJsTask = {
    step: { kind: "start", input: "{}", randomSeed: undefined },
    ...{ owner: "", wallTimeMs: 60_000, memoryBytes: 2 ** 24, outputBytes: 1_000 },
    log: { lines: 1, bytes: 100 },
    nested: { left: nestedCalls, granted: nestedCalls },
    access,
    frozenClock: undefined,
  };
  const nothing = (): void => {};
  const nowhere: TaskThread = {
    ...{ artifact: undefined, markStarted: nothing, tell: nothing, afterwards: nothing },
    request: () => "",
  };
  return new GuestBorder(task, new ThreadLog(nowhere, task.log));
}

const CALL = 'c[1,"tool","{}"]';
const FETCH = 'f[2,"GET","http://api.test/",[["a","b"]],null,false]';
const STAT = 's["stat","/",""]';

test("a guest without grants cannot make the host do anything, whatever it sends", () => {
  const host = open();
  expect([CALL, FETCH, STAT].map((text) => host.receive(text))).toEqual([undefined, undefined, undefined]);
  expect(host.validator.requests).toEqual([]);
  expect(JSON.parse(host.validator.takeRefusals() ?? "")).toEqual([
    { id: 1, error: { code: "permission_denied", message: "this call may not call other tools" } },
    {
      id: 2,
      error: {
        code: "origin_denied",
        message: "this call may not use the network: its grant has no 'net'",
      },
    },
  ]);
  expect(host.closeFiles()).toBeUndefined();
});

test.skipIf(!workspaceIsSupported())("a guest with grants has its requests done or passed on", () => {
  using tree = new GrantedTree();
  const fs = { directories: [{ directory: tree.root }], fileBytes: 10, used: NO_FILE_USE };
  const host = open({ net: { requests: 1, bytes: 1_000 }, fs }, 1);
  expect([CALL, FETCH].map((text) => host.receive(text))).toEqual([undefined, undefined]);
  expect(JSON.parse(host.receive(STAT) ?? "")).toMatchObject({ ok: { kind: "directory" } });
  expect(host.validator.requests).toEqual([
    { kind: "call-tool", id: 1, name: "tool", input: "{}" },
    {
      ...{ kind: "http", id: 2, method: "GET", url: "http://api.test/", headers: [["a", "b"]] },
      ...{ body: undefined, encoding: "utf8", followRedirects: false },
    },
  ]);
  expect(host.validator.takeRefusals()).toBeUndefined();
  // Both allowances are used up.
  host.receive(CALL);
  host.receive(FETCH);
  expect(host.validator.requests).toHaveLength(2);
  expect(host.validator.takeRefusals()).toMatch(/limit_exceeded.*too_many_requests/);
  expect(host.closeFiles()).toEqual(NO_FILE_USE);
});

test.skipIf(!workspaceIsSupported())(
  "nothing that a guest sends throws, or has an effect outside its grants",
  () => {
    using tree = new GrantedTree();
    const fs = {
      directories: [{ directory: tree.root, at: "/w", write: true }],
      fileBytes: 100,
      used: NO_FILE_USE,
    };
    const operation = fc.constantFrom(
      ...[
        "readFile",
        "writeFile",
        "appendFile",
        "readdir",
        "stat",
        "mkdir",
        "rm",
        "rename",
        "constructor",
        "__proto__",
      ],
    );
    const name = fc.constantFrom(
      "w",
      "a",
      "b",
      "..",
      ".",
      "",
      "outside",
      "secret.txt",
      "ok.txt",
      "\0",
      "\ud800",
    );
    const path = fc.array(name, { maxLength: 8 }).map((names) => `/${names.join("/")}`);
    const hostile = fc.oneof(fc.jsonValue(), fc.array(fc.jsonValue()), fc.tuple(operation, path, path));
    fc.assert(
      fc.property(fc.constantFrom("c", "f", "s", "l", "x", ""), hostile, (kind, message) => {
        const host = open({ net: { requests: 9, bytes: 1_000 }, fs }, 9);
        const reply = host.receive(kind + JSON.stringify(message));
        expect(reply ?? "").not.toContain("CANARY");
        host.closeFiles();
      }),
      { numRuns: 500 },
    );
    expect(open().receive("s{not json")).toBeUndefined();
    tree.expectUntouchedOutside();
  },
);
