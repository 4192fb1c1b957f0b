import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import type { JsonObject } from "../../../src/json/value.ts";
import { ISOLATIONS } from "../../sandboxes/process/availability.ts";
import { openRepository } from "./repository.ts";

describe.each(ISOLATIONS)("What git tools say (%s)", (isolation) => {
  const open = () => openRepository({}, isolation);

  test("is git's own reason, even where git writes that to its standard output", async () => {
    const { path, git, call } = await open();
    const messageOf = async (name: string, args: JsonObject = {}) => (await call(name, args)).error?.message;
    expect(await messageOf("git_commit", { message: "m" })).toMatch(/nothing to commit, working tree clean/);
    writeFileSync(path("a.txt"), "two\n");
    expect(await messageOf("git_commit", { message: "m" })).toMatch(/no changes added to commit/);
    git("commit", "--quiet", "--all", "--message=Second");
    writeFileSync(path("new.txt"), "new\n");
    expect(await messageOf("git_commit", { message: "m" })).toMatch(/nothing added to commit but untracked/);
    expect(await messageOf("git_stash", { action: "pop" })).toMatch(/No stash entries found/);
    git("switch", "--quiet", "--create", "topic", "HEAD~1");
    writeFileSync(path("a.txt"), "theirs\n");
    git("commit", "--quiet", "--all", "--message=Topic");
    expect(() => git("merge", "main")).toThrow();
    expect(await messageOf("git_commit", { message: "m", all: false })).toMatch(
      /unmerged files|unresolved conflict/,
    );
    expect(await messageOf("git_branch", { action: "switch", name: "main" })).toMatch(/while merging/);
  });

  test.skipIf(isolation === "namespaces")(
    "is why a repository cannot be granted with write at all",
    async () => {
      const { scene } = await open();
      const { error } = await scene.call("git_stage", { paths: ["a.txt"] });
      expect(error?.code).toBe("permission_denied");
      expect(error?.message).toMatch(
        /is granted with write has '\.git.* accept that with writesProtected: true/,
      );
    },
  );

  test("names the conflict after a stash that does not fit any more, which is still there", async () => {
    const { path, git, call, output } = await open();
    writeFileSync(path("a.txt"), "mine\n");
    await output("git_stash", { action: "push" });
    writeFileSync(path("a.txt"), "theirs\n");
    git("commit", "--quiet", "--all", "--message=Theirs");
    const { error } = await call("git_stash", { action: "pop" });
    expect(error?.message).toMatch(
      /CONFLICT \(content\): Merge conflict in a\.txt[\s\S]*stash entry is kept/,
    );
    expect(readFileSync(path("a.txt"), "utf8")).toMatch(/<<<<<<<[\s\S]*mine/);
    expect(await output("git_stash")).toMatch(/^stash@\{0\}/);
  });

  test("is which files of a merge have marks of conflicts, before all changes are committed", async () => {
    const { path, git, call, output } = await open();
    git("switch", "--quiet", "--create", "topic");
    writeFileSync(path("a.txt"), "theirs\n");
    git("commit", "--quiet", "--all", "--message=Topic");
    git("switch", "--quiet", "main");
    writeFileSync(path("a.txt"), "ours\n");
    git("commit", "--quiet", "--all", "--message=Ours");
    expect(() => git("merge", "topic")).toThrow();
    expect(await output("git_status")).toMatch(/UU a\.txt\nA merge is under way/);
    if (isolation !== "namespaces") return;
    const { error } = await call("git_commit", { message: "m", all: true });
    expect(error?.message).toMatch(/not resolved:\na\.txt:1: leftover conflict marker/);
    expect(await output("git_stage", { paths: ["a.txt"] })).toMatch(/marks of conflicts:\na\.txt:1:/);
    writeFileSync(path("a.txt"), "both\n");
    expect(await output("git_commit", { message: "m", all: true })).toMatch(/^\[main /);
    expect(await output("git_status")).toBe("## main\nThere are no changes, and no new files.\n");
  });

  test.runIf(isolation === "namespaces")("is which files are staged without their filter", async () => {
    const { path, output } = await open();
    writeFileSync(path(".gitattributes"), "*.bin filter=lfs -text\n");
    writeFileSync(path("x.bin"), "x");
    expect(await output("git_stage", { paths: ["x.bin"] })).toMatch(
      /staged as they are.*\nx\.bin: filter: lfs\n/,
    );
    writeFileSync(path("b.txt"), "b");
    expect(await output("git_stage", { paths: ["x.bin"], unstage: true })).toBe("Done. Git printed nothing.");
    expect(await output("git_stage", { paths: ["b.txt"] })).toBe("Done. Git printed nothing.");
  });

  test("has the names of files as they are written", async () => {
    const { path, output } = await open();
    writeFileSync(path("日本.txt"), "");
    expect(await output("git_status")).toBe("## main\n?? 日本.txt\n");
  });

  test("is bounded, with its beginning and its end", async () => {
    const { path, call } = await open();
    for (let index = 0; index < 400; index++) writeFileSync(path(`untracked-file-number-${index}.txt`), "");
    const { error } = await call("git_commit", { message: "m" });
    expect(error?.message).toMatch(/^On branch main[\s\S]*characters left out[\s\S]*nothing added to commit/);
    expect(error?.message.length).toBeLessThan(5_000);
  });

  test("names what is missing for a push or a pull", async () => {
    const { git, call } = await open();
    const both = async (args: JsonObject = {}) =>
      [await call("git_push", args), await call("git_pull", { branch: "main", ...args })].map(
        ({ error }) => error?.message,
      );
    for (const message of await both())
      expect(message).toMatch(/^This repository has no remote 'origin': .*git remote add origin/);
    for (const message of await both({ remote: "upstream" })) expect(message).toMatch(/no remote 'upstream'/);
    git("remote", "add", "origin", "./elsewhere.git");
    git("remote", "add", "ssh", "git@example.org:a/b.git");
    git("remote", "add", "insecure", "http://user:secret@example.org/a.git");
    for (const remote of ["origin", "ssh", "insecure"])
      for (const message of await both({ remote })) {
        expect(message).toMatch(/transport '\w+' not allowed[\s\S]*HTTPS only.*git remote set-url/);
        expect(message).not.toContain("secret");
      }
    git("remote", "add", "web", "https://example.invalid/a.git");
    for (const message of await both({ remote: "web" }))
      expect(message).toMatch(/resolve host|ENETDOWN|Network is/i);
    git("switch", "--quiet", "--detach");
    expect((await call("git_push", { remote: "web" })).error?.message).toMatch(/HEAD is on no branch/);
    git("switch", "--quiet", "--orphan", "unborn");
    expect((await call("git_push", { remote: "web" })).error?.message).toMatch(/no commit/);
  });

  test("has neither errors of the confinement nor what is not true, for a branch that could follow another", async () => {
    const { git, output } = await open();
    git("update-ref", "refs/remotes/origin/topic", "HEAD");
    git("remote", "add", "origin", "https://example.invalid/a.git");
    git("config", "branch.autoSetupMerge", "always");
    git("config", "branch.autoSetupRebase", "always");
    expect(await output("git_branch", { action: "create", name: "topic", from: "origin/topic" })).toBe(
      "Switched to a new branch 'topic'\n",
    );
    expect(await output("git_branch", { action: "create", name: "other", from: "main" })).toBe(
      "Switched to a new branch 'other'\n",
    );
    expect(git("config", "--list")).not.toMatch(/branch\.(topic|other)\./);
    await output("git_branch", { action: "switch", name: "main" });
    git("branch", "--quiet", "--set-upstream-to=origin/topic", "topic");
    const deleted = await output("git_branch", { action: "delete", name: "topic" });
    expect(deleted).toMatch(/^Deleted branch topic/);
    expect(deleted).not.toMatch(/config|error|busy|denied/i);
    expect(git("branch", "--list", "topic")).toBe("");
  });

  test("is that untracked files are put aside, too, which they are", async () => {
    const { path, call, output } = await open();
    writeFileSync(path("a.txt"), "two\n");
    writeFileSync(path("new.txt"), "new\n");
    mkdirSync(path("folder"));
    writeFileSync(path("folder/deep [x].txt"), "deep\n");
    writeFileSync(path(".git/info/exclude"), "ignored\n");
    writeFileSync(path("ignored"), "ignored\n");
    await output("git_stash", { action: "push", message: "all" });
    expect(await output("git_status")).toBe("## main\nThere are no changes, and no new files.\n");
    for (const name of ["new.txt", "folder"]) expect(existsSync(path(name))).toBe(false);
    expect(existsSync(path("ignored"))).toBe(true);
    await output("git_stash", { action: "pop" });
    expect(readFileSync(path("new.txt"), "utf8")).toBe("new\n");
    expect(readFileSync(path("folder/deep [x].txt"), "utf8")).toBe("deep\n");
    expect(readFileSync(path("a.txt"), "utf8")).toBe("two\n");
    expect((await call("git_stash", { action: "push" })).error).toBeUndefined();
  });

  test("is in words where there is nothing to list", async () => {
    const { output, git, path } = await open();
    expect(await output("git_stash")).toBe("Nothing is put aside.");
    expect(await output("git_diff")).toMatch(/^There are no (such )?differences/);
    rmSync(path(".git"), { recursive: true });
    git("init", "--quiet", "--initial-branch=main");
    expect(await output("git_branch")).toBe("There is no branch yet: the first commit makes one.");
  });

  test("is what to grant for a worktree or a submodule, whose repository is elsewhere, and for a bare one", async () => {
    const { path, git, call } = await open();
    const worktree = await open();
    rmSync(worktree.path(".git"), { recursive: true });
    git("worktree", "add", "--quiet", path("linked"));
    renameSync(path("linked/.git"), worktree.path(".git"));
    for (const name of ["git_status", "git_stage", "git_commit", "git_push"]) {
      const { error } = await worktree.call(
        name,
        name === "git_stage" ? { paths: ["a.txt"] } : name === "git_commit" ? { message: "m" } : {},
      );
      expect(error?.message).toMatch(
        /^This is a linked worktree or a submodule, whose repository is not in the granted directories/,
      );
      expect(error?.message).not.toContain(path(""));
    }
    git("clone", "--quiet", "--bare", ".", path("bare"));
    rmSync(path(".git"), { recursive: true });
    for (const name of ["HEAD", "config", "objects", "refs"]) renameSync(path(`bare/${name}`), path(name));
    expect((await call("git_status")).error?.message).toMatch(/is a bare repository/);
  });
});
