import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import type { JsonObject } from "../../../src/json/value.ts";
import { ISOLATIONS, unavailable } from "../../sandboxes/process/availability.ts";
import { ToolsetScene } from "../toolset-scene.ts";
import { openRepository } from "./repository.ts";

describe.skipIf(unavailable)("The toolset git", () => {
  test("shows, stages and commits changes", async () => {
    const { path, git, output } = await openRepository();
    writeFileSync(path("a.txt"), "two\n");
    writeFileSync(path("b c.txt"), "new\n");
    expect(await output("git_status")).toBe('## main\n M a.txt\n?? "b c.txt"\n');
    expect(await output("git_diff")).toContain("-one\n+two\n");
    await output("git_stage", { paths: ["a.txt", "b c.txt"] });
    await output("git_stage", { paths: ["b c.txt"], unstage: true });
    expect(await output("git_diff", { staged: true, stat: true })).toContain("1 file changed");
    expect(await output("git_commit", { message: "Second\n\nWhy." })).toContain("Second");
    expect(git("log", "-1", "--format=%an %B")).toBe("Ada Second\n\nWhy.\n\n");
    expect(await output("git_log", { count: 1 })).toContain("Second");
    expect(await output("git_diff", { from: "HEAD~1", to: "HEAD", paths: ["a.txt"] })).toContain("+two");
  });

  test("commits with the author and the trailers that the embedder gives", async () => {
    const { path, git, output } = await openRepository({
      author: { name: "Agent", email: "agent@example.org" },
      commitTrailers: ({ sessionId }) => ({ "X-AI-Model": "model-1", "X-Session": sessionId }),
    });
    writeFileSync(path("a.txt"), "two\n");
    await output("git_commit", { message: "Second\n\nReviewed-by: Bob\n", all: true });
    expect(git("log", "-1", "--format=%an <%ae>%n%B").trim()).toBe(
      "Agent <agent@example.org>\nSecond\n\nReviewed-by: Bob\nX-AI-Model: model-1\nX-Session: session",
    );
  });

  test("refuses before it begins what would write protected files, and names them", async () => {
    const { path, git, output, call } = await openRepository();
    git("switch", "--quiet", "--create", "topic");
    mkdirSync(path(".github/workflows"), { recursive: true });
    mkdirSync(path("packages/a/.vscode"), { recursive: true });
    for (const name of [".github/workflows/ci.yml", "packages/a/.vscode/tasks.json", "a.txt"])
      writeFileSync(path(name), "theirs\n");
    git("add", "--all");
    git("commit", "--quiet", "--message=Topic");
    git("switch", "--quiet", "main");
    const refused = await call("git_branch", { action: "switch", name: "topic" });
    expect(refused.error?.message).toContain(
      "Nothing was done: this would write files that other programs run or follow: .github/workflows/ci.yml, packages/a/.vscode/tasks.json.",
    );
    expect(git("branch", "--show-current")).toBe("main\n");
    expect(git("status", "--short")).toBe("");
    expect(existsSync(path("packages"))).toBe(false);
    const some = await call("git_branch", {
      action: "switch",
      name: "topic",
      protected: [".github/workflows/ci.yml"],
    });
    expect(some.error?.message).toMatch(/follow: packages\/a\/\.vscode\/tasks\.json\. /);
    const all = [".github/workflows/ci.yml", "packages/a/.vscode/tasks.json"];
    await output("git_branch", { action: "switch", name: "topic", protected: all });
    expect(git("status", "--short")).toBe("");
    expect(readFileSync(path("packages/a/.vscode/tasks.json"), "utf8")).toBe("theirs\n");
    const back = await call("git_branch", { action: "switch", name: "main" });
    expect(back.error?.message).toContain("Nothing was done");
    writeFileSync(path(".github/workflows/ci.yml"), "mine\n");
    writeFileSync(path("AGENTS.md"), "mine\n");
    const stash = await call("git_stash", { action: "push" });
    expect(stash.error?.message).toMatch(/follow: \.github\/workflows\/ci\.yml, AGENTS\.md\. /);
    rmSync(path("AGENTS.md"));
    const one = [".github/workflows/ci.yml"];
    await output("git_stash", { action: "push", protected: one });
    expect(readFileSync(path(".github/workflows/ci.yml"), "utf8")).toBe("theirs\n");
    expect((await call("git_stash", { action: "pop" })).error?.message).toContain("ci.yml");
    await output("git_stash", { action: "pop", protected: one });
    expect(readFileSync(path(".github/workflows/ci.yml"), "utf8")).toBe("mine\n");
    expect(
      (await call("git_branch", { action: "switch", name: "main", protected: [".git/config"] })).error?.code,
    ).toBe("permission_denied");
  });

  test("creates, lists, switches and deletes branches", async () => {
    const { git, output, call } = await openRepository();
    await output("git_branch", { action: "create", name: "topic" });
    expect(git("branch", "--show-current")).toBe("topic\n");
    await output("git_branch", { action: "switch", name: "main" });
    expect(await output("git_branch", { action: "list" })).toMatch(
      /\* main +\w+ First\n {2}topic +\w+ First/,
    );
    await output("git_branch", { action: "delete", name: "topic" });
    expect(git("branch", "--list", "topic")).toBe("");
    expect((await call("git_branch", { action: "switch" })).error?.message).toContain("/name is required");
  });

  test("lists branches and stashes if a call names no action, and guesses none that changes something", async () => {
    const { path, git, output, call } = await openRepository();
    expect(await output("git_branch")).toMatch(/^\* main +\w+ First\n$/);
    writeFileSync(path("a.txt"), "two\n");
    await output("git_stash", { action: "push", message: "later" });
    expect(await output("git_stash")).toContain("later");
    for (const [name, args] of [
      ["git_branch", { name: "topic" }],
      ["git_branch", { from: "HEAD" }],
      ["git_stash", { message: "more" }],
    ] as const) {
      const { code, message } = (await call(name, args)).error ?? {};
      expect(code).toBe("validation_error");
      expect(message).toContain("/action is required");
    }
    expect(git("branch", "--list")).toBe("* main\n");
  });

  test.each(
    ISOLATIONS,
  )("says that a repository granted for reading cannot be changed, with %s", async (isolation) => {
    const { scene, path, git } = await openRepository({}, isolation);
    writeFileSync(path("a.txt"), "two\n");
    const fs = [{ directory: scene.workspace }];
    const changes: readonly (readonly [string, JsonObject])[] = [
      ["git_stage", { paths: ["a.txt"] }],
      ["git_commit", { message: "Second", all: true }],
      ["git_branch", { action: "create", name: "topic" }],
      ["git_stash", { action: "push" }],
      ["git_pull", {}],
    ];
    for (const [name, args] of changes) {
      const { error } = await scene.callWith({ fs }, name, args);
      expect(error).toMatchObject({ code: "execution_error", effect: "none" });
      expect(error?.message).toBe(
        "The repository cannot be changed: its directory was granted for reading only. Ask the user to grant this tool the directory with write",
      );
    }
    for (const name of ["git_status", "git_branch", "git_stash"])
      expect((await scene.callWith({ fs }, name, {})).error).toBeUndefined();
    expect(git("status", "--short")).toBe(" M a.txt\n");
  });

  test("puts changes aside and takes them back", async () => {
    const { path, output } = await openRepository();
    writeFileSync(path("a.txt"), "two\n");
    await output("git_stash", { action: "push", message: "later" });
    expect(readFileSync(path("a.txt"), "utf8")).toBe("one\n");
    expect(await output("git_stash", { action: "list" })).toContain("later");
    await output("git_stash", { action: "pop" });
    expect(readFileSync(path("a.txt"), "utf8")).toBe("two\n");
  });

  test("says in git's words why a command failed", async () => {
    const { call } = await openRepository();
    expect((await call("git_log", { revision: "nothing" })).error).toMatchObject({
      code: "execution_error",
      message: "fatal: bad revision 'nothing'\ngit_branch lists the branches, and git_log the commits",
    });
  });

  test("says that a command succeeded for which git prints nothing", async () => {
    const { path, output } = await openRepository();
    expect(await output("git_diff")).toMatch(/^There are no such differences/);
    writeFileSync(path("a.txt"), "two\n");
    expect(await output("git_stage", { paths: ["a.txt"] })).toBe("Done. Git printed nothing.");
  });

  test("says what is missing where there is no repository", async () => {
    await using scene = await ToolsetScene.open("git");
    expect((await scene.call("git_status", {})).error).toMatchObject({
      code: "execution_error",
      message:
        "The first granted directory is not the root of a git repository: create one with git init, or have another directory granted",
    });
  });

  test("says who must name an author where none is known", async () => {
    const { path, git, call } = await openRepository();
    git("config", "--unset", "user.email");
    writeFileSync(path("a.txt"), "two\n");
    expect((await call("git_commit", { message: "Second", all: true })).error).toMatchObject({
      code: "execution_error",
      message:
        "The author of commits is not known: ask the user to set user.name and user.email in the configuration of this repository",
    });
    expect(git("log", "--format=%s")).toBe("First\n");
  });

  test.each([
    ["git_log", { revision: "--output=pwned" }],
    ["git_diff", { from: "--output=pwned" }],
    ["git_branch", { action: "create", name: "--force" }],
    ["git_push", { remote: "ext::sh -c touch% pwned" }],
    ["git_push", { branch: "+main" }],
    ["git_push", { branch: ":main" }],
    ["git_pull", { remote: "--upload-pack=touch pwned" }],
  ])("refuses an option or an address as an argument of %s", async (name, args) => {
    const { call } = await openRepository();
    expect((await call(name, args)).error?.code).toBe("validation_error");
  });

  test("takes no path for an option or a pattern", async () => {
    const { path, git, output, call } = await openRepository();
    writeFileSync(path("--force"), "1");
    writeFileSync(path("c.txt"), "1");
    expect((await call("git_stage", { paths: ["*.txt"] })).error?.message).toContain(
      "did not match any files",
    );
    await output("git_stage", { paths: ["--force"] });
    expect(git("diff", "--cached", "--name-only")).toBe("--force\n");
  });

  test("uses no remote repository in a directory, nor one over SSH", async () => {
    const { path, git, call } = await openRepository();
    git("clone", "--quiet", "--bare", ".", path("remote.git"));
    git("remote", "add", "origin", "./remote.git");
    git("remote", "add", "ssh", "ssh://example.org/a.git");
    for (const remote of ["origin", "ssh"]) {
      expect((await call("git_push", { remote })).error?.message).toMatch(
        /transport '\w+' not allowed\n.*HTTPS only/,
      );
      expect((await call("git_pull", { remote, branch: "main" })).error?.message).toMatch(
        /transport '\w+' not allowed\n.*HTTPS only/,
      );
    }
  });
});

describe.skipIf(unavailable)("A hostile repository runs no program when an agent", () => {
  /** Every place that is known to have git run a program. Each would create the file `pwned`. */
  async function openHostile() {
    const repository = await openRepository();
    const { path, git } = repository;
    const run = "touch pwned; cat";
    for (const [name, value] of Object.entries({
      "core.fsmonitor": "touch pwned; false",
      "core.hooksPath": "hooks",
      "core.pager": run,
      "core.editor": "touch pwned; true",
      "core.worktree": "/tmp",
      "core.alternateRefsCommand": run,
      "diff.external": run,
      "diff.bad.command": run,
      "diff.bad.textconv": run,
      "filter.bad.clean": run,
      "filter.bad.smudge": run,
      "filter.bad.process": run,
      "filter.bad.required": "true",
      "merge.bad.driver": "touch pwned; true",
      "trailer.sign.command": "touch pwned; echo",
      "trailer.sign.ifmissing": "add",
      "gpg.program": "touch pwned; false",
      "commit.gpgSign": "true",
      "alias.status": "!touch pwned",
      "pager.log": run,
      "sequence.editor": "touch pwned; true",
    }))
      git("config", name, value);
    mkdirSync(path("hooks"));
    for (const hook of [
      "pre-commit",
      "post-checkout",
      "post-commit",
      "commit-msg",
      "post-index-change",
      "reference-transaction",
    ]) {
      writeFileSync(path(`hooks/${hook}`), `#!/bin/sh\ntouch "$PWD/pwned"\n`);
      chmodSync(path(`hooks/${hook}`), 0o755);
    }
    writeFileSync(path(".gitattributes"), "*.txt filter=bad diff=bad merge=bad\n");
    writeFileSync(path("a.txt"), "two\n");
    return repository;
  }

  test.each<[string, JsonObject[]]>([
    ["git_status", [{}]],
    ["git_diff", [{}, { staged: true }, { from: "HEAD" }]],
    ["git_log", [{ patch: true }]],
    ["git_stage", [{ paths: ["a.txt"] }]],
    [
      "git_branch",
      [
        { action: "create", name: "topic" },
        { action: "switch", name: "main" },
      ],
    ],
    ["git_stash", [{ action: "list" }, { action: "push", protected: [".gitattributes"] }]],
    ["git_commit", [{ message: "Second\n\nSign: x", all: true }]],
  ])("calls %s", async (name, inputs) => {
    const { path, call } = await openHostile();
    for (const input of inputs) expect((await call(name, input)).error).toBeUndefined();
    expect(existsSync(path("pwned"))).toBe(false);
  });

  test("(git itself would run one of them)", async () => {
    const { path, git } = await openHostile();
    expect(() => git("--work-tree=.", "--git-dir=.git", "diff")).toThrow("clean filter 'bad' failed");
    expect(existsSync(path("pwned"))).toBe(true);
  });
});
