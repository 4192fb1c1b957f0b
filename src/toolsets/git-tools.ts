import { defineTool, type Tool } from "../engine/tool.ts";
import type { ModelReader, ProgramContext } from "../tool/tool-traits.ts";
import {
  git,
  OPENS_PROTECTED,
  type OpenedFiles,
  PATTERNS,
  PROTECTED_FILES,
  PUSH_BY_NAME,
  REQUIRE_AUTHOR,
  REQUIRE_REMOTE,
  REQUIRE_RESOLVED,
  REQUIRE_WRITE,
  refuseProtectedFiles,
  SAY_WHAT_IS_STAGED,
  SAY_WHAT_IS_UNDER_WAY,
} from "./git-command.ts";
import { shortenedText } from "./model-texts.ts";
import { inputSchema, type ToolsetNaming } from "./tool-parts.ts";

/** A line of a trailer, as `git interpret-trailers` knows it. */
const TRAILER = /^[A-Za-z0-9-]+: \S/;

/** The options of the toolset `git`. */
export interface GitOptions extends ToolsetNaming {
  /**
   * The author of commits. Default: the one in the configuration of the repository; the user's own
   * configuration is not read.
   */
  readonly author?: { readonly name: string; readonly email: string };
  /**
   * Returns trailers for a commit, such as `{ "X-AI-Model": "…" }`. Also called when a person is asked to
   * confirm the commit, since they are shown. Default: none.
   */
  readonly commitTrailers?: (context: ProgramContext) => Readonly<Record<string, string>>;
}

/** No revision or name begins with a dash, which git could take for an option. */
const NAME = { type: "string", pattern: "^[^-\\s][^\\s]*$", maxLength: 1_000 } as const;
const PATHS = {
  type: "array",
  items: { type: "string", minLength: 1, maxLength: 4_096 },
  minItems: 1,
  maxItems: 1_000,
  description: "Files and directories, relative to the root of the repository. Patterns are not supported.",
} as const;
const FLAG = { type: "boolean" } as const;

/** Differences and logs can be long. */
const LESS = "Ask for less: name paths, or have a stat or fewer commits shown.";

/** How much of a long output is its beginning. */
const HEAD = 0.8;

const READ = {
  sideEffects: "read",
  confirm: "auto",
  modelText: (text: string, { chars }: ModelReader) => shortenedText(text, chars, HEAD, LESS),
} as const;
const WRITE = { sideEffects: "write", confirm: "prompt" } as const;
const NETWORK = { sideEffects: "network", confirm: "prompt" } as const;

/** Options for every command that shows differences. */
const PLAIN_DIFF = ["--no-color", "--no-ext-diff", "--no-textconv", "--ignore-submodules=all"];

/** Tools that run git in the workspace, which must be the root of a repository. */
export function gitTools({ author, commitTrailers }: GitOptions): readonly Tool[] {
  const identity =
    author === undefined ? [] : ["-c", `user.name=${author.name}`, "-c", `user.email=${author.email}`];
  const commit = defineTool({
    ...WRITE,
    name: "git_commit",
    description: "Commits what is staged. Hooks do not run.",
    // Trailers are not arguments of the call, so the person who confirms it would not see them otherwise.
    ...(commitTrailers !== undefined && {
      projectChanges: (_: unknown, context: ProgramContext) =>
        Object.entries(commitTrailers(context)).map(([name, value]) => `commit trailer ${name}: ${value}`),
    }),
    inputSchema: inputSchema(
      { message: { type: "string", minLength: 1, maxLength: 20_000 } },
      { all: { ...FLAG, description: "Whether to stage all changes of tracked files first." } },
    ),
    process: {
      ...git(
        ({ all = false }: { readonly all?: boolean }) => [
          ...identity,
          "commit",
          "--no-verify",
          "--cleanup=whitespace",
          "--file=-",
          ...(all ? ["--all"] : []),
        ],
        {
          checks: ({ all = false }) => [
            REQUIRE_WRITE,
            ...(author === undefined ? [REQUIRE_AUTHOR] : []),
            ...(all ? [REQUIRE_RESOLVED] : []),
          ],
        },
      ),
      input: ({ message }: { readonly message: string }, context: ProgramContext) =>
        withTrailers(message, commitTrailers?.(context) ?? {}),
    },
  });
  return [status, diff, log, stage, branch, stash, commit, push, pull];
}

const status = defineTool({
  ...READ,
  name: "git_status",
  description: "Shows the branch and what has changed, as `git status --short --branch` does.",
  inputSchema: inputSchema({}),
  process: git(() => ["status", "--short", "--branch", "--ignore-submodules=all"], {
    after: SAY_WHAT_IS_UNDER_WAY,
    // A line for the branch alone could be taken for a list that was cut off.
    also: (output) => (/^##[^\n]*\n?$/.test(output) ? "There are no changes, and no new files.\n" : ""),
  }),
});

const diff = defineTool({
  ...READ,
  name: "git_diff",
  description: "Shows changes: by default those that are not staged.",
  inputSchema: inputSchema(
    {},
    {
      staged: { ...FLAG, description: "Whether to show what is staged." },
      from: { ...NAME, description: "A revision to compare with." },
      to: { ...NAME, description: "The revision that is compared. Default: the files as they are." },
      paths: PATHS,
      stat: { ...FLAG, description: "Whether to show only the number of changed lines of each file." },
    },
  ),
  process: git(
    ({ staged, from, to, paths, stat }: DiffInput) => [
      "diff",
      ...PLAIN_DIFF,
      ...(staged ? ["--cached"] : []),
      ...(stat ? ["--stat"] : []),
      "--end-of-options",
      ...present(from),
      ...present(to),
      "--",
      ...(paths ?? []),
    ],
    { nothing: () => "There are no such differences. New files that are not staged are never shown." },
  ),
});

interface DiffInput {
  readonly staged?: boolean;
  readonly from?: string;
  readonly to?: string;
  readonly paths?: readonly string[];
  readonly stat?: boolean;
}

const log = defineTool({
  ...READ,
  name: "git_log",
  description: "Lists commits, the latest first.",
  inputSchema: inputSchema(
    {},
    {
      count: { type: "integer", minimum: 1, maximum: 200, description: "How many. Default: 20." },
      revision: { ...NAME, description: "Where to begin, or a range such as main..topic. Default: HEAD." },
      paths: PATHS,
      patch: { ...FLAG, description: "Whether to show the changes of each commit." },
    },
  ),
  process: git(
    ({ count = 20, revision, paths, patch }: LogInput) => [
      "log",
      ...PLAIN_DIFF,
      "--date=iso-strict",
      `--max-count=${count}`,
      ...(patch ? ["--patch"] : []),
      "--end-of-options",
      ...present(revision),
      "--",
      ...(paths ?? []),
    ],
    { nothing: () => "There are no such commits." },
  ),
});

interface LogInput {
  readonly count?: number;
  readonly revision?: string;
  readonly paths?: readonly string[];
  readonly patch?: boolean;
}

const stage = defineTool({
  ...WRITE,
  name: "git_stage",
  description: "Stages files for the next commit, or unstages them.",
  inputSchema: inputSchema({ paths: PATHS }, { unstage: FLAG }),
  process: git(
    ({ paths, unstage }: { readonly paths: readonly string[]; readonly unstage?: boolean }) => [
      ...(unstage ? ["reset", "--quiet"] : ["add", "--all"]),
      "--",
      ...paths,
    ],
    { checks: () => [REQUIRE_WRITE], after: SAY_WHAT_IS_STAGED },
  ),
});

const branch = defineTool({
  ...WRITE,
  name: "git_branch",
  description:
    "Lists, creates, switches to or deletes a branch. Only a branch that is merged can be deleted.",
  inputSchema: inputSchema(
    {},
    {
      action: {
        type: "string",
        enum: ["list", "create", "switch", "delete"],
        description: "Default: list, if no name is given.",
      },
      name: NAME,
      from: { ...NAME, description: "Where a new branch begins. Default: HEAD." },
      protected: PROTECTED_FILES,
    },
  ),
  paths: OPENS_PROTECTED,
  validate: ({ action, name, from }) => {
    if (action === undefined && (name !== undefined || from !== undefined)) {
      return ["/action is required with a name: create, switch or delete"];
    }
    const isListed = action === undefined || action === "list";
    return !isListed && name === undefined ? ["/name is required unless the action is list"] : [];
  },
  process: git(
    ({ action = "list", name, from }: BranchInput) => {
      if (action === "list") return ["branch", "--list", "--verbose", "--no-color"];
      if (action === "delete") return ["branch", "--delete", "--end-of-options", ...present(name)];
      // A branch that follows another one is noted in the configuration, which no call can write.
      const create = action === "create" ? ["--no-track", "--create"] : [];
      return [
        "switch",
        "--no-guess",
        "--no-recurse-submodules",
        ...create,
        ...present(name),
        ...present(from),
      ];
    },
    { checks: branchChecks, nothing: () => "There is no branch yet: the first commit makes one." },
  ),
});

function branchChecks(input: BranchInput): readonly string[] {
  const { action, name, from } = input;
  const target = action === "create" ? from : action === "switch" ? name : undefined;
  if (target === undefined) return requireWriteUnlessListed(input);
  // The last argument is where it leads, as git itself reads it.
  const changed =
    'for target; do :; done; look diff --name-only --no-renames -z --end-of-options HEAD "$target" --';
  return [...requireWriteUnlessListed(input), refuseProtectedFiles(changed, input)];
}

interface BranchInput extends OpenedFiles {
  readonly action?: "list" | "create" | "switch" | "delete";
  readonly name?: string;
  readonly from?: string;
}

const stash = defineTool({
  ...WRITE,
  name: "git_stash",
  description:
    "Puts changes aside (push), new files that are not ignored among them, or takes the latest of those back (pop); or lists them.",
  inputSchema: inputSchema(
    {},
    {
      action: { type: "string", enum: ["push", "pop", "list"], description: "Default: list." },
      message: { type: "string", minLength: 1, maxLength: 1_000, description: "Of what is put aside." },
      protected: PROTECTED_FILES,
    },
  ),
  paths: OPENS_PROTECTED,
  validate: ({ action, message }) =>
    action === undefined && message !== undefined ? ["/action is required with a message: push"] : [],
  process: git(
    ({ action = "list", message }: StashInput) => [
      "stash",
      action,
      ...(action === "push"
        ? ["--include-untracked", ...(message === undefined ? [] : [`--message=${message}`])]
        : []),
    ],
    { checks: stashChecks, nothing: () => "Nothing is put aside." },
  ),
});

function stashChecks(input: StashInput): readonly string[] {
  if (input.action === undefined || input.action === "list") return [];
  const changed =
    input.action === "push"
      ? "look diff --name-only --no-renames -z HEAD --; look ls-files --others --exclude-standard -z"
      : "look stash show --include-untracked --name-only --no-renames -z";
  return [REQUIRE_WRITE, refuseProtectedFiles(changed, input), PATTERNS];
}

interface StashInput extends OpenedFiles {
  readonly action?: "push" | "pop" | "list";
  readonly message?: string;
}

/** Neither an address nor a refspec, which could overwrite or delete a branch. */
const REMOTE_NAME = { type: "string", pattern: "^[^-+:\\s][^:\\s]*$", maxLength: 1_000 } as const;
const REMOTE_MEMBERS = {
  remote: { ...REMOTE_NAME, description: "The name of a remote repository. Default: origin." },
  branch: { ...REMOTE_NAME, description: "Default: HEAD." },
} as const;
const REMOTE = inputSchema({}, REMOTE_MEMBERS);

interface RemoteInput extends OpenedFiles {
  readonly remote?: string;
  readonly branch?: string;
}

const push = defineTool({
  ...NETWORK,
  name: "git_push",
  description: "Pushes a branch to a remote repository over HTTPS. It cannot overwrite what is there.",
  inputSchema: REMOTE,
  process: git(
    ({ remote = "origin", branch: name = "HEAD" }: RemoteInput) => [
      "push",
      "--no-verify",
      "--no-follow-tags",
      "--recurse-submodules=no",
      "--end-of-options",
      remote,
      name,
    ],
    { checks: () => [REQUIRE_REMOTE, PUSH_BY_NAME] },
  ),
});

const pull = defineTool({
  ...NETWORK,
  name: "git_pull",
  description: "Fetches a branch over HTTPS, and moves the current one to it if that loses nothing.",
  inputSchema: inputSchema({}, { ...REMOTE_MEMBERS, protected: PROTECTED_FILES }),
  paths: OPENS_PROTECTED,
  process: git(
    ({ remote = "origin", branch: name = "HEAD" }: RemoteInput) => [
      // Without it, the configuration says which branches are overwritten.
      "pull",
      "--ff-only",
      `--refmap=+refs/heads/*:refs/remotes/${remote}/*`,
      "--no-recurse-submodules",
      "--end-of-options",
      remote,
      name,
    ],
    // The last two arguments are the remote and the branch.
    {
      checks: (input: RemoteInput) => [
        REQUIRE_WRITE,
        REQUIRE_REMOTE,
        'said=$(look fetch --refmap="+refs/heads/*:refs/remotes/$remote/*" --no-recurse-submodules --end-of-options "$remote" "$last" 2>&1) || fail "$said"',
        refuseProtectedFiles("look diff --name-only --no-renames -z HEAD FETCH_HEAD --", input),
      ],
    },
  ),
});

function requireWriteUnlessListed({ action = "list" }: { readonly action?: string }): readonly string[] {
  return action === "list" ? [] : [REQUIRE_WRITE];
}

function present(text: string | undefined): readonly string[] {
  return text === undefined ? [] : [text];
}

/**
 * Appends trailers to a commit message: to those at its end, or as a paragraph of their own.
 *
 * @throws {TypeError} if a name or a value cannot be a trailer.
 */
function withTrailers(message: string, trailers: Readonly<Record<string, string>>): string {
  const lines = Object.entries(trailers).map(([name, value]) => {
    const line = `${name}: ${value}`;
    if (!TRAILER.test(line) || /[\r\n]/.test(line)) throw new TypeError(`'${name}' cannot be a trailer`);
    return line;
  });
  if (lines.length === 0) return message;
  const paragraphs = message.trimEnd().split(/\n{2,}/);
  const isAfterTrailers =
    paragraphs.length > 1 && (paragraphs.at(-1) ?? "").split("\n").every((line) => TRAILER.test(line));
  return `${message.trimEnd()}${isAfterTrailers ? "\n" : "\n\n"}${lines.join("\n")}\n`;
}
