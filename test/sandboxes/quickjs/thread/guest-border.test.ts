import fc from "fast-check";
import { afterEach, describe, expect, test, vi } from "vitest";
import { GuestBorder } from "../../../../src/sandboxes/quickjs/thread/guest-border.ts";
import type { QuickJsTask } from "../../../../src/sandboxes/quickjs/thread/thread-task.ts";
import { type TaskThread, ThreadLog } from "../../../../src/sandboxes/threads/thread-message.ts";
import { workspaceIsSupported } from "../../../../src/workspace/paths.ts";
import { GrantedTree } from "../../../workspace/granted-tree.ts";

const NO_FILE_USE = Object.freeze({ writtenBytes: 0, created: 0, hasChanged: false });

/** Opens the border of a call with or without external access. */
function open(access?: QuickJsTask["access"], nestedCalls = 0): GuestBorder {
  const task: QuickJsTask = {
    step: { kind: "start", input: "{}", randomState: 1n },
    owner: "",
    wallTimeMs: 60_000,
    memoryBytes: 2 ** 24,
    outputBytes: 1_000,
    log: { lines: 1, bytes: 100 },
    nested: { left: nestedCalls, granted: nestedCalls },
    access,
    frozenClock: undefined,
    toolNames: undefined,
  };
  const nothing = (): void => {};
  const nowhere: TaskThread = {
    artifact: undefined,
    markStarted: nothing,
    report: nothing,
    afterwards: nothing,
    discard: nothing,
    move: nothing,
    request: () => "",
  };
  return new GuestBorder(task, new ThreadLog(nowhere, task.log));
}

afterEach(() => vi.restoreAllMocks());

const CALL = 'c[1,"tool","{}"]';
const FETCH = 'f[2,"GET","http://api.test/",[["a","b"]],null,false]';
const STAT = 's["stat","/",""]';

test("a guest without grants cannot make the host do anything, whatever it sends", () => {
  const host = open();
  expect([CALL, FETCH].map((text) => host.receive(text))).toEqual([undefined, undefined]);
  expect(host.receive(STAT)).toContain("not-permitted");
  expect(host.receive('w["random",16,0]')).toContain("capabilities.random is not granted");
  expect(host.validator.requests).toEqual([]);
  expect(JSON.parse(host.validator.takeRefusals() ?? "")).toEqual([
    {
      id: 1,
      error: {
        code: "permission_denied",
        message:
          "tools.call: this call may not call other tools (capabilities.tools is not granted, or calls are already nested three deep)",
      },
    },
    {
      id: 2,
      error: {
        code: "origin_denied",
        message: "fetch: this call may not use the network (capabilities.net is not granted)",
      },
    },
  ]);
  expect(host.closeFiles()).toBeUndefined();
});

test.skipIf(!workspaceIsSupported())("a guest with grants has its requests done or passed on", () => {
  using tree = new GrantedTree();
  const fs = { grants: [{ directory: tree.root }], guarded: "[]", fileBytes: 10, used: NO_FILE_USE };
  const host = open({ net: { requests: 1, bytes: 1_000 }, fs, random: undefined }, 1);
  expect([CALL, FETCH].map((text) => host.receive(text))).toEqual([undefined, undefined]);
  expect(JSON.parse(String(host.receive(STAT)))).toMatchObject({ ok: { kind: "directory" } });
  expect(host.validator.requests).toEqual([
    { kind: "call-tool", id: 1, name: "tool", input: "{}" },
    {
      kind: "http",
      id: 2,
      method: "GET",
      url: "http://api.test/",
      headers: [["a", "b"]],
      body: undefined,
      encoding: "base64",
      followRedirects: false,
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
      grants: [{ directory: tree.root, at: "/w", write: true }],
      guarded: "[]",
      fileBytes: 100,
      used: NO_FILE_USE,
    };
    const operation = fc.constantFrom(
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
      fc.property(fc.constantFrom("c", "f", "s", "l", "w", "r", "b", "x", ""), hostile, (kind, message) => {
        const host = open({ net: { requests: 9, bytes: 1_000 }, fs, random: undefined }, 9);
        const reply = host.receive(kind + JSON.stringify(message));
        expect(reply ?? "").not.toContain("CANARY");
        host.closeFiles();
      }),
      { numRuns: 500 },
    );
    expect(open().receive("s{not json")).toContain("not-permitted");
    tree.expectUntouchedOutside();
  },
);

describe("a message that is too large", () => {
  const values = (count: number): string => "[],".repeat(count);
  const long = '"'.repeat(7e6);

  test.each<[string, string, string | undefined]>([
    ["a call with too long an input", `c[1,"tool",${JSON.stringify(long)}]`, "validation_error"],
    ["a call with too many values", `c[1,"tool",${values(1e6)}1]`, "validation_error"],
    [
      "a request with a body over the budget",
      `f[1,"POST","/",[],${JSON.stringify(long)},false]`,
      "too_large",
    ],
    [
      "a request with too many header fields",
      `f[1,"GET","/",[${'["",""],'.repeat(1e6)}[]],null]`,
      "too_large",
    ],
    ["a log line", `l["info",${JSON.stringify(long)}]`, undefined],
    ["a log line of many values", `l["info",${values(1e6)}1]`, undefined],
    ["something without an id", `c[${values(1e6)}1]`, undefined],
  ])("%s is not parsed", (_case, text, code) => {
    const host = open({ net: { requests: 1, bytes: 1_000 }, fs: undefined, random: undefined }, 1);
    const parse = vi.spyOn(JSON, "parse");
    expect(host.receive(text)).toBeUndefined();
    expect(parse).not.toHaveBeenCalled();
    expect(host.validator.requests).toEqual([]);
    const refusals = host.validator.takeRefusals();
    if (code === undefined) expect(refusals).toBeUndefined();
    else expect(refusals).toContain(code);
  });

  test("a file operation is answered without parsing it", () => {
    const fs = { grants: [], guarded: "[]", fileBytes: 1_000, used: NO_FILE_USE };
    const host = open({ net: undefined, fs, random: undefined });
    const parse = vi.spyOn(JSON, "parse");
    for (const text of [`s["writeFile","/a",${JSON.stringify(long)}]`, `s[${values(1e6)}1]`]) {
      expect(host.receive(text)).toContain("too long");
    }
    expect(parse).not.toHaveBeenCalled();
  });

  test("a call of the largest input passes, whatever its characters are", () => {
    const host = open(undefined, 2);
    for (const input of [JSON.stringify('"'.repeat(524_287)), JSON.stringify("[,".repeat(524_287))]) {
      host.receive(`c[1,"tool",${JSON.stringify(input)}]`);
    }
    expect(host.validator.requests).toHaveLength(2);
  });
});

test("a guest that imports one missing module after the other is not remembered without bound", () => {
  const host = open();
  for (const name of ["x", "./x"]) {
    for (let index = 0; index < 2_000; index++) {
      const resolved = host.resolveModule("tool.js", `${name}${index}`);
      expect(() => host.loadModule(resolved)).toThrow(/cannot be imported|was not loaded/);
      if (index > 1_024 && name === "x") expect(resolved).toBe("refused");
    }
  }
  const resolved = host.resolveModule("tool.js", "./x".repeat(1e6));
  expect(resolved.length).toBeLessThan(100);
});
