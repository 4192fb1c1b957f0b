import { existsSync, mkdirSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { dirname, join } from "node:path";
import { beforeEach, describe, expect, onTestFinished, test } from "vitest";
import type { ConfirmationRequest } from "../../../src/engine/call/confirmation.ts";
import type { DispatchContext } from "../../../src/engine/call/context.ts";
import type { ToolExecution } from "../../../src/engine/call/execution.ts";
import type { Tool } from "../../../src/engine/tool.ts";
import type { FsGrant } from "../../../src/policy/grant/fs-grant.ts";
import { allow, ask, type PolicyRequest } from "../../../src/policy/policy.ts";
import { workspaceIsSupported } from "../../../src/workspace/paths.ts";
import { GrantedTree } from "../../workspace/granted-tree.ts";
import { contextFor, dispatchTool, hostTool, recordEvents } from "../helpers.ts";

let tree: GrantedTree;
beforeEach(() => {
  tree = new GrantedTree();
  onTestFinished(() => tree[Symbol.dispose]());
});

/** A tool that counts its calls, and a context that counts the questions to its policy. */
class Probe {
  calls = 0;
  asked: PolicyRequest[] = [];
  readonly #traits: Partial<Tool>;
  readonly #more: Partial<DispatchContext>;

  constructor(traits: Partial<Tool>, more: Partial<DispatchContext> = { workspace: tree.root }) {
    this.#traits = traits;
    this.#more = more;
  }

  async dispatch(input: object): Promise<ToolExecution> {
    const tool = hostTool((given) => {
      this.calls++;
      return given;
    }, this.#traits);
    const policy = {
      check: (request: PolicyRequest) => {
        this.asked.push(request);
        return allow({ sandbox: "host" });
      },
    };
    return dispatchTool(await contextFor([tool], { policy, ...this.#more }), input);
  }
}

const reads: Partial<Tool> = { paths: [{ argument: "/path", access: "read" }] };
const writes: Partial<Tool> = { paths: [{ argument: "/path", access: "write" }] };

describe.skipIf(!workspaceIsSupported())("A declared path", () => {
  test.each([
    (root: string) => `${root}/`,
    (root: string) => `${root}//.`,
    (root: string) => `${dirname(root)}/./${root.slice(dirname(root).length + 1)}`,
    (root: string) => `${root}/a/../b/..`,
    (root: string) => root.replaceAll("/", "//"),
  ])("is in the workspace however the path of that is written", async (written) => {
    const probe = new Probe(reads, { workspace: written(tree.root) });
    for (const path of ["a.txt", join(tree.root, "a.txt"), "sub/../a.txt"])
      expect(await probe.dispatch({ path })).toMatchObject({ success: true });
    expect(probe.asked.map(({ workspace }) => workspace)).toEqual(Array(3).fill(tree.root));
    expect(await probe.dispatch({ path: "../a.txt" })).toMatchObject({
      error: { message: "Path escapes workspace boundary" },
    });
  });

  test.each([
    "../../etc/passwd",
    "subdir/../../../etc/passwd",
    "/etc/passwd",
    "a/../..",
    "link/secret.txt",
  ])("that leads out of the workspace is refused before anybody is asked: '%s'", async (path) => {
    symlinkSync("../outside", join(tree.root, "link"));
    const { events, seen } = recordEvents();
    const probe = new Probe(reads, { workspace: tree.root, events });
    const { error, success } = await probe.dispatch({ path });
    expect(error).toEqual({
      code: "permission_denied",
      message: "Path escapes workspace boundary",
      effect: "none",
      userVisible: true,
    });
    expect({ success, calls: probe.calls, asked: probe.asked }).toEqual({
      success: false,
      calls: 0,
      asked: [],
    });
    expect(seen).toMatchObject([
      { type: "tool.failed", detail: `Path '${path}' escapes workspace boundary` },
    ]);
  });

  test.each([
    "ok.txt",
    "a/../ok.txt",
    "new.txt",
    "new/below.txt",
    ".",
  ])("that stays in the workspace reaches the tool as it is: '%s'", async (path) => {
    expect((await new Probe(writes).dispatch({ path })).output).toEqual({ path });
    expect((await new Probe(reads).dispatch({ path: join(tree.root, path) })).success).toBe(true);
  });

  test("that is no path is a validation error that says what to send", async () => {
    const { events, seen } = recordEvents();
    const probe = new Probe(reads, { workspace: tree.root, events });
    expect((await probe.dispatch({ path: 7 })).error).toMatchObject({
      code: "validation_error",
      message: "Invalid arguments: /path must be a string: the path of one file or directory",
    });
    expect((await probe.dispatch({ path: "a\0b" })).error?.message).toBe(
      "Invalid arguments: /path must be a path without NUL characters",
    );
    expect((await probe.dispatch({ path: "a\\b" })).error?.message).toBe(
      "Invalid arguments: /path cannot be the path of a file: the path contains invalid characters",
    );
    expect(seen[0]).toMatchObject({ problems: [{ path: "/path" }] });
    expect(probe.asked).toEqual([]);
  });

  test("that is absent or null is not checked", async () => {
    const probe = new Probe(reads);
    expect((await probe.dispatch({})).success).toBe(true);
    expect((await probe.dispatch({ path: null })).success).toBe(true);
  });

  test("in a list is checked in every item", async () => {
    const probe = new Probe({ paths: [{ argument: "/files/*/path", access: "read" }] });
    expect((await probe.dispatch({ files: [{ path: "ok.txt" }, { path: "a" }] })).success).toBe(true);
    expect((await probe.dispatch({ files: [{ path: "ok.txt" }, { path: "../x" }] })).error?.code).toBe(
      "permission_denied",
    );
    expect((await probe.dispatch({ files: [{ path: "ok.txt" }, { path: [] }] })).error?.message).toBe(
      "Invalid arguments: /files/1/path must be a string: the path of one file or directory",
    );
    const many = { files: Array.from({ length: 1_001 }, () => ({ path: "a" })) };
    expect((await probe.dispatch(many)).error?.message).toBe(
      "Invalid arguments: /files/*/path holds more than 1000 paths: make several calls",
    );
  });

  test("can lead anywhere without a workspace, but must be a path", async () => {
    const probe = new Probe(reads, {});
    expect((await probe.dispatch({ path: "../../etc/passwd" })).success).toBe(true);
    expect((await probe.dispatch({ path: "a\0b" })).error?.code).toBe("validation_error");
    expect((await probe.dispatch({ path: {} })).error?.code).toBe("validation_error");
  });
});

describe.skipIf(!workspaceIsSupported())("A declared path in a protected place", () => {
  const dispatch = async (path: string, fs: readonly FsGrant[], access: "read" | "write" = "write") => {
    let asked = 0;
    const ctx = await contextFor(
      [hostTool(() => 1, { usesFiles: true, paths: [{ argument: "/path", access }] })],
      {
        workspace: tree.root,
        policy: { check: () => ask("sure?", { grant: { sandbox: "host", capabilities: { fs } } }) },
        confirm: async () => {
          asked++;
          return { decision: "allow", by: "ada" };
        },
      },
    );
    return { ...(await dispatchTool(ctx, { path })), asked };
  };

  test("is refused for writing before a person is asked, unless the grant names the place", async () => {
    mkdirSync(join(tree.root, ".git/hooks"), { recursive: true });
    const whole = [{ directory: tree.root, write: true }];
    const { error, asked } = await dispatch("a/../.git/hooks/pre-commit", whole);
    expect(error).toMatchObject({
      code: "permission_denied",
      message:
        "Cannot write '.git/hooks/pre-commit': what is there tells git which programs to run, or where to find a repository, and the grant does not open this place",
      effect: "none",
    });
    expect(asked).toBe(0);
    const named = [...whole, { directory: join(tree.root, ".git/hooks"), at: "/hooks", write: true }];
    expect(await dispatch(".git/hooks/pre-commit", named)).toMatchObject({ success: true, asked: 1 });
    expect(await dispatch(".git/hooks/pre-commit", whole, "read")).toMatchObject({ success: true });
    expect(await dispatch(".git/info/exclude", whole)).toMatchObject({ success: true });
  });

  /** A tool that writes through `context.files`, under a policy that allows it. */
  const write = async (
    path: string,
    fs: readonly FsGrant[] | undefined,
    answer: "allow" | "deny" | "nobody" | "cannot be asked" = "allow",
    options: { readonly sandbox?: "host" | "quickjs"; readonly from?: string } = {},
  ) => {
    const requests: ConfirmationRequest[] = [];
    const { sandbox = "host", from = path } = options;
    const tool: Tool = {
      ...hostTool(
        async (_: unknown, context) => {
          await context.files?.write(from, "NEW");
          return 1;
        },
        { usesFiles: true, paths: [{ argument: "/path", access: "write" }] },
      ),
      quickjs: { source: "export default () => 1" },
    };
    const ctx = await contextFor([tool], {
      workspace: tree.root,
      policy: { check: () => allow({ sandbox, capabilities: { ...(fs && { fs }) } }) },
      ...(answer !== "cannot be asked" && {
        confirm: async (request: ConfirmationRequest) => {
          requests.push(request);
          return answer === "nobody" ? { decision: answer } : { decision: answer, by: "ada" };
        },
      }),
    });
    return { ...(await dispatchTool(ctx, { path })), requests };
  };

  test.each([
    "AGENTS.md",
    "docs/claude.md",
    ".github/workflows/ci.yml",
    ".npmrc",
    "packages/a/.yarnrc.yml",
    "mise.local.toml",
  ])("is asked about if it is only followed by others, whatever the policy allows: '%s'", async (path) => {
    mkdirSync(dirname(join(tree.root, path)), { recursive: true });
    const whole = [{ directory: tree.root, write: true }];
    const allowed = await write(path, whole);
    expect(allowed).toMatchObject({ success: true, confirmation: { by: "ada" } });
    expect(allowed.requests).toMatchObject([
      { question: expect.stringContaining(`'${path}', which`), paths: [{ path, access: "write" }] },
    ]);
    expect(allowed.requests[0]?.grant.capabilities.fs).toMatchObject([{ writesProtected: [path] }]);
    expect(readFileSync(join(tree.root, path), "utf8")).toBe("NEW");
    rmSync(join(tree.root, path));
    expect((await write(path, whole, "deny")).error?.code).toBe("user_denied");
    expect((await write(path, whole, "nobody")).error?.code).toBe("permission_denied");
    expect((await write(path, whole, "cannot be asked")).error?.code).toBe("permission_denied");
    expect((await write(path, whole, "allow", { sandbox: "quickjs" })).error).toMatchObject({
      code: "permission_denied",
      message: expect.stringContaining(`Cannot write '${path}'`),
    });
    expect(existsSync(join(tree.root, path))).toBe(false);
  });

  test("is not asked about if the grant opens it, by its own path or by a member", async () => {
    mkdirSync(join(tree.root, ".github/workflows"), { recursive: true });
    const path = ".github/workflows/ci.yml";
    for (const grant of [
      { directory: tree.root, write: true, writesProtected: true },
      { directory: tree.root, write: true, writesProtected: [".github"] },
    ] as const) {
      expect(await write(path, [grant])).toMatchObject({ success: true, requests: [] });
    }
    const one = { file: join(tree.root, path), at: `/${path}`, write: true };
    expect(await write(path, [one])).toMatchObject({ success: true, requests: [] });
  });

  test("is opened for the path that was shown, and for no other", async () => {
    const whole = [{ directory: tree.root, write: true }];
    const { error, requests } = await write("AGENTS.md", whole, "allow", { from: "CLAUDE.md" });
    expect(requests).toHaveLength(1);
    expect(error?.message).toContain("is followed by coding agents as instructions");
    expect(existsSync(join(tree.root, "CLAUDE.md"))).toBe(false);
  });

  test("is refused, and nobody is asked, if programs run what is there", async () => {
    const whole = [{ directory: tree.root, write: true }];
    for (const path of [".vscode/tasks.json", ".claude/settings.json", ".mcp.json", "a/.envrc", ".HUSKY/x"]) {
      const { error, requests } = await write(path, whole);
      expect(error, path).toMatchObject({ code: "permission_denied" });
      expect(requests).toEqual([]);
    }
  });

  test("is refused in a read-only grant that names it", async () => {
    mkdirSync(join(tree.root, ".ssh"));
    const fs = [{ directory: join(tree.root, ".ssh") }];
    expect((await dispatch(".ssh/config", fs)).error?.code).toBe("permission_denied");
  });
});

describe.skipIf(!workspaceIsSupported())("A person who is asked", () => {
  const asking = async (answers: readonly unknown[], input: object) => {
    const requests: ConfirmationRequest[] = [];
    const left = [...answers];
    const ctx = await contextFor([hostTool((given) => given, writes)], {
      workspace: tree.root,
      policy: { check: () => ask("sure?", { grant: { sandbox: "host" } }) },
      confirm: async (request) => {
        requests.push(request);
        return left.shift() as never;
      },
    });
    return { execution: await dispatchTool(ctx, input), requests };
  };

  test("sees where the declared paths lead", async () => {
    symlinkSync("a/b", join(tree.root, "deep"));
    const { requests } = await asking([{ decision: "allow", by: "ada" }], { path: "deep/../in.txt" });
    expect(requests[0]?.paths).toEqual([{ path: "a/in.txt", access: "write" }]);
  });

  test("cannot write arguments whose paths lead out", async () => {
    const edited = { decision: "allow", by: "ada", arguments: { path: "../outside/secret.txt" } };
    const { execution } = await asking([edited], { path: "ok.txt" });
    expect(execution.error).toMatchObject({
      code: "permission_denied",
      message: "Path escapes workspace boundary",
    });
  });
});

describe("A declared URL", () => {
  const urls: Partial<Tool> = { urls: [{ argument: "/url" }] };

  test.each([
    "https://example.com/a?b#c",
    "http://[::1]:8080/",
    "HTTPS://EXAMPLE.com/@user",
    "https://münchen.de",
  ])("of http or https reaches the tool: '%s'", async (url) => {
    expect((await new Probe(urls, {}).dispatch({ url })).output).toEqual({ url });
  });

  test.each([
    "file:///etc/passwd",
    "javascript:alert(1)",
    "ftp://example.com",
    "example.com",
    "//example.com",
    "",
    "http:example.com",
    "https:///example.com",
    "https:\\\\example.com",
    "https://exa mple.com",
    "ht\ntps://example.com",
    " https://example.com",
    "https://example.com/\t",
    "http://[::1",
    7,
  ])("of another kind is refused before the policy is asked: %j", async (url) => {
    const probe = new Probe(urls, {});
    const { error } = await probe.dispatch({ url });
    expect(error).toMatchObject({
      code: "validation_error",
      message: "Invalid arguments: /url must be an http: or https: URL, such as https://example.com/page",
    });
    expect({ calls: probe.calls, asked: probe.asked }).toEqual({ calls: 0, asked: [] });
  });

  test.each([
    "https://user:secret@example.com/",
    "https://user@example.com",
    "https://@example.com",
  ])("with credentials is refused, and they are not repeated: '%s'", async (url) => {
    const { error } = await new Probe(urls, {}).dispatch({ url });
    expect(error?.message).toBe(
      "Invalid arguments: /url must be a URL without user name and password: leave out what is before the @",
    );
  });

  test("is checked beside the paths, and every problem is told", async () => {
    const { error } = await new Probe({ ...reads, ...urls }, {}).dispatch({ path: 1, url: 2 });
    expect(error?.message).toMatch(/^Invalid arguments: \/path .*; \/url /);
  });
});
